package diag

// AuthorDirectly is the remedy for what the conversion route does not take and the authored route does. Segments for a chip do not
// hold what conversion leaves to the host, so the command lifts for target virtual, its default.
const AuthorDirectly = "author the native layers directly: espalier compile MODEL --emit netplist -o DIR writes them down"
