"""Fields in a query: `tag:work`, `-author:ada`, `year:2020..2024`.

`reading` finds them in a text and turns them into conditions of the filters. `registry` has the built-in ones, and
`frontmatter` those of the documents' own metadata. `field_values` counts, sorts and returns what documents have in
them.
"""
