"""Fields in a query: `tag:work`, `-author:ada`, `year:2020..2024`.

`syntax` finds them in a text. `registry` has the built-in ones, and `frontmatter` those of the documents' own metadata.
`reading` turns all of them into conditions of the filters.
"""
