"""Word, PowerPoint and Excel files from before 2007, which are OLE files, and encrypted ones, which still are."""
