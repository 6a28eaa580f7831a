// Package bundle has the folder that the compiler makes and the runtime loads.
//
//	manifest.json     features, functions, weight map, and the digest of every file
//	program.e5        the dispatch descriptor: package e5
//	segments/0.hwx    one container for each engine segment: package hwx
//	host.mil          the functions that run on the host, as text
//	weights/…         files that are mapped, not read
//
// An engine segment is one AneInference of the descriptor and one procedure of
// one container. A host segment is one CpuInference that names a function of
// host.mil. The manifest says which is which, and Open and Write see to it that
// manifest and descriptor agree.
//
// A bundle is content-addressed: its manifest has the SHA-256 of every file, and
// the bundle's ID is that of the manifest. There is no time and no path of the
// machine in it, so the same content is the same bytes.
//
// New makes a bundle in memory, of the same type and held to the same rules: the
// runtime takes either. OfContainer makes one of a container that stands alone.
// Content makes of a bundle what Write takes.
//
// A container may leave out the bytes of its kernel section, which then is a file
// of weights that the segment names. So containers share the weights of a model,
// and these are mapped, not copied.
//
// The package knows neither graphs nor registers. It keeps host.mil as a text and
// checks of a container only that it is one.
package bundle
