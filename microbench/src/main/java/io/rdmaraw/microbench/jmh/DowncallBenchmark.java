package io.rdmaraw.microbench.jmh;

import io.rdmaraw.ffi.PageMemory;
import io.rdmaraw.queue.SharedDevice;
import io.rdmaraw.verbs.objects.CompletionQueue;
import io.rdmaraw.verbs.objects.QueuePair;
import io.rdmaraw.verbs.objects.QueuePairOptions;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

import java.util.concurrent.TimeUnit;

/**
 * Measures the minimum cost of a downcall from Java: calls that find no work. The result shows how often an event loop
 * can afford to call the provider, and how long a burst must be to amortise the cost of the call.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(value = 2, jvmArgsAppend = "--enable-native-access=ALL-UNNAMED")
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
public class DowncallBenchmark {
    private SharedDevice device;
    private CompletionQueue completions;
    private QueuePair queuePair;
    private PageMemory memory;

    /** Opens an idle queue pair. */
    @Setup
    public void open() {
        device = SharedDevice.acquire("soft:loop:downcalls");
        completions = device.context().createCompletionQueue(64, null, 0);
        queuePair = device.protectionDomain().createQueuePair(QueuePairOptions.builder()
                .completionQueue(completions).maxSendWr(64).maxReceiveWr(64).maxSendSge(1).maxReceiveSge(1).build());
        memory = PageMemory.map(4096);
    }

    /** Closes the queue pair and the device. */
    @TearDown
    public void close() {
        queuePair.close();
        completions.close();
        memory.close();
        device.release();
    }

    /** Calls {@code ibv_poll_cq} on an empty queue. */
    @Benchmark
    public int pollEmpty() {
        return completions.poll(16, memory.address());
    }

    /** Calls {@code ibv_post_send}, which fails immediately because the queue pair is not ready to send. */
    @Benchmark
    public int postRefused() {
        return queuePair.postSend(memory.address(), memory.address() + 1024);
    }

    /** Calls {@code ibv_req_notify_cq}. */
    @Benchmark
    public void requestNotification() {
        completions.requestNotification(false);
    }
}
