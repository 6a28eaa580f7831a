// Package driver is the host's side of the engine: what a program has to go through that wants it to run something.
//
//	d := driver.Open(target)                              // one for each target in the process
//	c := d.NewClient(driver.AllowAll)                     // a process of the host
//	p, err := c.CreateProgram(container, driver.ProgramOptions{})
//	q, err := p.Prepare(ctx)                              // loaded: an image at new addresses, in a slot
//	x, err := c.NewSurface(n)
//	err = q.Run(ctx, &driver.Request{…})                  // or Submit
//	h, err := c.PrepareChain(driver.ChainArgs{…})         // programs back to back
//	err = h.Execute(ctx, driver.InputsReady{…})
//
// The same by selectors, sizes and bytes, as the kernel's user clients have it:
//
//	conn, err := c.Connect(firmware.Control)              // or DirectPath
//	scalars, err := conn.Call(2, []uint64{0}, request, reply)
//
// Which file is whose:
//
//	device.go      the engine as the host sees it: slots, grants, status
//	client.go      who uses it, and what belongs to whom
//	memory.go      surfaces, and the addresses at which the engine sees them
//	program.go     containers, images, processes
//	request.go     one call of a procedure: its buffers, events, deadline and reply
//	call.go        a request on its way, as the driver and as the controller sees it
//	queue.go       programs that the runtime above has loaded itself
//	controller.go  who gets the engine: priorities, turns, preemption, abort
//	job.go         what it runs
//	priority.go    qualities of service
//	secure.go      the engine for one client alone
//	event.go       numbers that rise, and that anyone may wait for
//	chain.go       cache requests: what they are made of
//	execution.go   and how they run
//	ring.go        commands between host and controller, in the firmware's form
//	stats.go       what a call took
//	wire*.go       calls of numbers and bytes; no other file reads or writes these
//
// The sources are cited as in package firmware. Where they leave something open, it is ours: the layouts that package
// firmware marks so, slices of time among equals, and that a more urgent request stops another between two tiles of a task
// and not only between tasks.
//
// The package does not know what a program computes, nor what a model is.
package driver
