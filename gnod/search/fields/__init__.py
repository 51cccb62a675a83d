"""Fields in a query: `tag:work`, `-author:ada`, `year:2020..2024`.

`reading` finds fields in a text and turns them into conditions of the filters. `registry` has the built-in fields, and
`frontmatter` the fields of the documents' own metadata. `field_values` counts, sorts and returns the values of
documents.
"""
