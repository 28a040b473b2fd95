/** How often an open page of a batch that runs looks for its next version. */
export const followSeconds = 15;

/** The script of such a page, which loads it again unless its reader has said no. Without scripts, `meta` does so. */
export const following = `
const follow = document.querySelector('#follow'), box = follow.querySelector('input');
follow.hidden = false;
box.checked = location.hash !== '#still';
box.onchange = () => location.replace(box.checked ? '#' : '#still');
setInterval(() => { if (box.checked) location.reload(); }, ${followSeconds}000);
`;
