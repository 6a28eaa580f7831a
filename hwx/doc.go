// Package hwx reads and writes the hardware container: the file, shaped like a
// 64-bit Mach-O with the magic 0xbeefface, that carries the task stream of a
// network, its constants, and the ports that the runtime binds.
//
//	f, err := hwx.Open("model.hwx")
//	defer f.Close()
//	program, err := f.Program()    // where the first task is, the base addresses
//	ports, err := f.Ports()        // names, shapes, strides
//	text := f.Text().Data          // the task stream, for package td
//
// Reading keeps every byte: load commands of an unknown kind stay raw, words
// without a known meaning stay in their structures, whatever lies between the
// parts stays in Gaps. So Encode gives back the file that was read. Build goes
// the other way and makes a container from a short description; for each of
// Apple's files that are known, Build of its Describe is that file.
//
// The sources are cited as follows. "h13 1.3" is section 1.3 of the fact sheet
// that was checked on 17 real files of Apple's compiler v4.2.1 for H13, all of
// 2020: what it says of them is certain. "seed" is chapter 23 of the ane-guide,
// written from files of compiler v9.509.0; none of these is at hand, so what
// rests on it, or on other published notes about files of 2026, is likely at
// best. Where they differ, the fact sheet wins and the difference is noted.
//
// A container may have several programs: Procedures lists them, each with its own
// ports, tasks and base-address table, and Build takes a Spec for each. All known
// files have one. How several share a file is ours; see Procedure.
//
// Containers for the target `virtual` have the form of 2026 and four things that
// are ours, each marked so where it is defined: ports that are read and written,
// for states; derived memory, which tasks fill once from constants; a kernel
// section whose bytes are a weight file beside the container; an entry of the
// base-address table by which tasks reach the constants beside the kernels.
//
// The package knows bytes and addresses. What a task computes is in td and in
// the engine.
package hwx
