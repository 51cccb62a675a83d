"""Office Open XML: Word, PowerPoint, Excel and Visio files since 2007. One module per format.

package    the parts of a file, and the relations between them
drawings   charts, diagrams and shapes, which all of them may have
"""
