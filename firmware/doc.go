// Package firmware has the formats on the far side of the driver: the container
// in which the engine's controller gets its programs, the commands that reach it
// through the mailbox, and the calls by which a process reaches the driver. It
// reads, writes and names them.
//
//   - Package, Program and Section are the load container: three levels, headed
//     ANEH, ANEP and ANES.
//   - Command is a row of the command table; Header, Layouts and Limits are what
//     a message is made of.
//   - Method is a row of the submission interface: a selector of a user client,
//     with the sizes that the kernel checks.
//   - ReturnCode and Magic are the fixed numbers.
//
// No file, no message and no call of Apple's is at hand to check any of this.
// So each row says where it comes from and how sure that is, in the words of
// td.Confidence: Unverified is what a document states, Likely what two sources
// found independently, Ours what we had to define in order to write anything
// at all. Bytes without a known meaning are kept and written back.
//
// The sources are cited as follows. "guide 30" is a chapter of the ane-guide and
// "guide C.5" a section of its appendix, written from the firmware, kernel and
// runtime of an M1; "seed 23.14" is a table of its chapter 23. "t6021" are the
// published notes of the project joshuaswarren/ane-linux-experiments on firmware
// and kernel of an M2 Max: the next generation, whose commands have the same
// names.
//
// The package does not know what a program computes, nor does it run one.
package firmware
