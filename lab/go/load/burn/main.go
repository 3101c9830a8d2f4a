// Burn uses a known amount of CPU and memory for a known time, so that a test knows what a node must measure.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"
)

const period = 100 * time.Millisecond

func main() {
	cpu := flag.Int("cpu", 100, "CPU to use, in thousandths of a core (at most 1000)")
	memory := flag.Int("memory", 10, "memory to hold, in MiB")
	grow := flag.Float64("grow", 0, "further memory, in MiB per second")
	most := flag.Int("most", 0, "memory at which that growth ends, in MiB; 0 is never")
	spike := flag.Int("spike", 0, "further memory for a while, in MiB")
	hold := flag.Duration("hold", 10*time.Second, "how long a spike is held before it is given back")
	after := flag.Duration("after", 0, "how long after the start growth and spike begin")
	at := flag.Int64("at", 0, "the Unix time, in seconds, at which they begin instead, so that many begin together")
	lasting := flag.Duration("for", 0, "how long to run; 0 is until told to stop")
	code := flag.Int("exit", 0, "exit code after that time")
	flag.Parse()
	go leaveWhenTold()
	fmt.Printf("using %d m cpu and %d MiB\n", *cpu, *memory)
	held := touch(*memory)
	start := time.Now()
	begin := start.Add(*after)
	if *at > 0 {
		begin = time.Unix(*at, 0)
	}
	for *lasting == 0 || time.Since(start) < *lasting {
		work(time.Duration(*cpu) * period / 1000)
		wanted := *memory + grown(*grow, time.Since(begin), *most-*memory)
		if since := time.Since(begin); since >= 0 && since < *hold {
			wanted += *spike
		}
		held = resized(held, wanted)
	}
	os.Exit(*code)
}

// Grown is what was grown by, in MiB, so long after growth began; a room of 0 or less is no bound.
func grown(rate float64, since time.Duration, room int) int {
	more := int(rate * max(since.Seconds(), 0))
	if room > 0 {
		return min(more, room)
	}
	return more
}

// Resized holds so many MiB; what is given back goes to the kernel at once, not to the next allocation.
func resized(held [][]byte, wanted int) [][]byte {
	if wanted >= len(held) {
		return append(held, touch(wanted-len(held))...)
	}
	clear(held[wanted:])
	held = held[:wanted]
	debug.FreeOSMemory()
	return held
}

// As first process of a container nothing ends it by default: a signal must be asked for.
func leaveWhenTold() {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGINT, syscall.SIGTERM)
	<-told
	os.Exit(0)
}

// Touch allocates memory page by page: memory that was never written to is not counted as used.
func touch(mebibytes int) [][]byte {
	var blocks [][]byte
	for range mebibytes {
		block := make([]byte, 1<<20)
		for page := 0; page < len(block); page += 4096 {
			block[page] = 1
		}
		blocks = append(blocks, block)
	}
	return blocks
}

// Work is busy until this process has used the given CPU time, at most for one period, then sleeps the rest of it.
func work(wanted time.Duration) {
	begin, used := time.Now(), cpuTime()
	for cpuTime()-used < wanted && time.Since(begin) < period {
		for i := 0; i < 20000; i++ {
			_ = i
		}
	}
	time.Sleep(period - time.Since(begin))
}

func cpuTime() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
