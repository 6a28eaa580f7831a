// Package build makes the bundle of a job: it compiles, or takes from the cache what was compiled before.
//
//	c, err := build.Open(dir, 0)
//	built, err := c.Build(ctx, build.Request{Job: job})   // a nil cache compiles
//	built.Bundle                                          // in memory, for package e5rt
//
// # The key
//
// An entry is found by the SHA-256 of all that its bytes depend on: the functions as the compiler sees them (key.go), the digests
// of the weight files, the target, the numerics and the other options of the job, the shapes, what the manifest says of the
// features, and the version of the compiler, which for a development build is the digest of the executable (version.go). It
// is computed again when the compiler is done: if a file of the model was written to meanwhile, nothing is kept.
//
// A weight file is digested once. The cache remembers the digest by the device, the inode, the size and the times of the
// file, unless these are so young that another write might leave them as they are (osfile.Identity).
//
// # The folder
//
//	ab/ab…-a, cd/cd…-d   package cache of go-internal: from keys to outputs, both small
//	blobs/…              containers too large for an output, by their digest
//	locks/…              held by who compiles; empty
//	size                 how many bytes there are, about
//
// An output is an entry (entry.go), or the digest of a file. An entry has the manifest, the descriptor, the containers and
// the host program of a bundle. Of a weight file that tasks read as it is, which on virtual are all large ones, it has only the
// number among those of the job: whoever asks has the model open, and its weights with it. So an entry cannot outlive its
// weights, refers to no path, and serves every copy of the model. Containers for chips have their streams packed, and an entry
// holds them: at most once, since blobs are known by their content.
//
// # What a reader believes
//
// Nothing that has another digest than the one it was written with, and nothing but under the key that it was written for. An
// output is read whole and digested each time: it is at most a few times blobSize. A blob is mapped, and its digest is
// remembered like that of a weight file: a flipped byte that came through the file system moves the times of the file, and is
// found when it is next opened; one that came from the disk itself is found by Verify, which remembers nothing. What is wrong
// counts as absent: it is compiled and written anew.
//
// Nothing is written in place. A process that is killed leaves outputs and blobs that no key leads to, which Trim removes an
// hour later, and locks that the system releases. Nothing is synchronized to the disk but blobs: what a power failure tears
// does not have its digest.
//
// One process compiles a key, others wait for it, as long as their contexts do, and take what it made. After a minute they
// compile for themselves: the process might be stopped.
//
// # The bound
//
// When there are more bytes than the bound, Trim removes the entries that were used the longest time ago: the time of a
// key's file is that of its last use. What another process has mapped or read stays whole for it: files lose their names, not
// their bytes; where the system does not let go of a mapped file, it stays for the next time.
//
// A cache that cannot be read or written is no reason to fail: Build compiles, and Request.Note is told why nothing was kept.
//
// The package does not know how bundles run, nor who asks.
package build
