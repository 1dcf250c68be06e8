package io.rdmaraw.microbench;

import io.rdmaraw.channel.ChannelCounting;
import io.rdmaraw.queue.QueueCounting;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.CompilerControl;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

import java.util.concurrent.TimeUnit;

/**
 * Serves the decision to count always: what the counters of the receive path add to a burst. {@code counted} less
 * {@code uncounted} is the cost; the calls in between, which both make, keep the compiler from adding up a whole burst
 * at once, as the work on a frame does in earnest.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(value = 2, jvmArgsAppend = "--enable-native-access=ALL-UNNAMED")
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
public class CountingBenchmark {
    /** Frames per burst. */
    @Param({"1", "8", "32", "64"})
    public int burst;

    private final QueueCounting queue = new QueueCounting();
    private ChannelCounting channel;
    private int[] lengths;

    /** Makes the lengths of a burst's frames. */
    @Setup
    public void open() {
        channel = new ChannelCounting(queue);
        lengths = new int[burst];
        for (int i = 0; i < burst; i++) {
            lengths[i] = 60 + i;
        }
    }

    /** Gives the device back. */
    @TearDown
    public void close() {
        channel.close();
    }

    /** The burst alone. */
    @Benchmark
    public int uncounted() {
        int bytes = 0;
        for (int length : lengths) {
            bytes += work(length);
        }
        return bytes;
    }

    /** The burst, with all that is counted on its way. */
    @Benchmark
    public int counted() {
        int bytes = 0;
        queue.poll();
        for (int length : lengths) {
            queue.frame(length);
            bytes += work(length);
        }
        channel.burst(burst, bytes);
        return bytes;
    }

    @CompilerControl(CompilerControl.Mode.DONT_INLINE)
    private static int work(int length) {
        return length;
    }
}
