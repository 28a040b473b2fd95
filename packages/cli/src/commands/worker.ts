import type { CommandContext } from '../command-context';
import { makeCurrentCommand } from '../config/temporal-connection';
import { openLog, runningOutput } from '../observability/log';
import { aborted, untilAskedToEnd } from '../process/asked-to-end';
import { findTemporal } from '../stack/open-temporal';
import { startWorker } from '../stack/worker-part';

export async function worker(context: CommandContext): Promise<void> {
  const { config, output } = context;
  const { metricsAddress, taskQueue } = config.values.worker;
  const signal = untilAskedToEnd(context, { mayBeForced: true });
  const log = await openLog(context, { process: 'worker' });
  const news = runningOutput(context, log);
  const { target } = await findTemporal(context);
  const onWarning = (warning: string) => news.warn(warning);
  const part = await startWorker(context, { target, log, onWarning, isUnversioned: false });
  const { nexusApps, version } = part;
  const { address } = target.connection;
  if (output.json) {
    const metrics = metricsAddress === undefined ? {} : { metrics: `http://${metricsAddress}/metrics` };
    const { namespace } = target;
    output.printJson({ address, namespace, taskQueue, ...(nexusApps && { nexusApps }), ...version, ...metrics });
  } else {
    news.say(`Worker on task queue ${taskQueue} of ${address}. Ctrl-C drains it.`);
    if (nexusApps) news.say(`Callers of other namespaces may use ${nexusApps.join(', ')}.`);
    if (version) {
      const { deploymentName, buildId } = version;
      const makeCurrent = makeCurrentCommand({ address, namespace: target.namespace }, deploymentName, buildId);
      news.say(
        `It is build ${buildId} of deployment ${deploymentName}, and takes new work once that is current: ${makeCurrent}`,
      );
    }
  }
  await Promise.race([part.ended, aborted(signal)]);
  await part.close();
}
