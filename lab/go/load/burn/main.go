// Burn uses a known amount of CPU and memory for a known time, so that a test knows what a node must measure.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const period = 100 * time.Millisecond

func main() {
	cpu := flag.Int("cpu", 100, "CPU to use, in thousandths of a core (at most 1000)")
	memory := flag.Int("memory", 10, "memory to hold, in MiB")
	grow := flag.Float64("grow", 0, "further memory, in MiB per second")
	lasting := flag.Duration("for", 0, "how long to run; 0 is until told to stop")
	code := flag.Int("exit", 0, "exit code after that time")
	flag.Parse()
	go leaveWhenTold()
	fmt.Printf("using %d m cpu and %d MiB\n", *cpu, *memory)
	held := touch(*memory)
	start := time.Now()
	for *lasting == 0 || time.Since(start) < *lasting {
		work(time.Duration(*cpu) * period / 1000)
		wanted := *memory + int(*grow*time.Since(start).Seconds())
		held = append(held, touch(wanted-len(held))...)
	}
	os.Exit(*code)
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
