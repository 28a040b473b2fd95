/** How often an open page of a running batch reloads. */
export const followSeconds = 15;

/** The script that reloads such a page unless its reader turned that off. Without scripts, a `meta` element does so. */
export const following = `
const follow = document.querySelector('#follow'), box = follow.querySelector('input');
follow.hidden = false;
box.checked = location.hash !== '#still';
box.onchange = () => location.replace(box.checked ? '#' : '#still');
setInterval(() => { if (box.checked) location.reload(); }, ${followSeconds}000);
`;
