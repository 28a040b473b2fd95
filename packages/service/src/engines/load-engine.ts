import { messageOf } from '../caught';
import { ConversionFailure, oneLine } from './conversion';

/** Loads an optional engine, or fails with what to install. */
export async function loadEngine<Module>(packageName: string, load: () => Promise<Module>): Promise<Module> {
  try {
    return await load();
  } catch (error) {
    const reason = oneLine(messageOf(error));
    throw new ConversionFailure(
      `The engine ${packageName} cannot be loaded. Run: npm install ${packageName} (${reason})`,
    );
  }
}
