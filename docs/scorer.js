// How the search of the site ranks: pages for users come before decisions. The other values are Sphinx's.
var Scorer = {
  score: ([page, , , , score]) => (page.startsWith("adr/") ? score - 100 : score),
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: {},
  objPrioDefault: 0,
};
