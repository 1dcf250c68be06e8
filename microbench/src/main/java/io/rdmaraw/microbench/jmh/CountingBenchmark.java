package io.rdmaraw.microbench.jmh;

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
 * Measures the cost that the counters of the receive path add to a burst. The result supports the decision to count
 * always. The cost is {@code counted} minus {@code uncounted}. Both call a method per frame, because the compiler would
 * otherwise sum up a whole burst at once, which it cannot do if frames are processed.
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

    /** Opens the counters and chooses the frame lengths of a burst. */
    @Setup
    public void open() {
        channel = new ChannelCounting(queue);
        lengths = new int[burst];
        for (int i = 0; i < burst; i++) {
            lengths[i] = 60 + i;
        }
    }

    /** Releases the device. */
    @TearDown
    public void close() {
        channel.close();
    }

    /** Processes a burst without counting. */
    @Benchmark
    public int uncounted() {
        int bytes = 0;
        for (int length : lengths) {
            bytes += work(length);
        }
        return bytes;
    }

    /** Processes a burst and updates all counters. */
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
