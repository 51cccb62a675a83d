"""Fields in a query: `tag:work`, `-author:ada`, `year:2020..2024`.

`syntax` finds them in a text, `registry` knows the built-in ones, `frontmatter` those of the documents' own metadata,
and `reading` turns all of them into conditions of the filters.
"""
