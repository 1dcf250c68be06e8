package io.rdmaraw.microbench.jmh;

import io.netty.buffer.AdaptiveByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import io.rdmaraw.memory.Slab;
import io.rdmaraw.queue.SharedDevice;
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
 * Compares a slot with buffers of Netty's allocators, over the life of a frame buffer: allocate, fill, read the header,
 * release. The result supports the decision to implement a separate buffer class.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(value = 2, jvmArgsAppend = "--enable-native-access=ALL-UNNAMED")
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
public class SlotBufferBenchmark {
    private static final int FRAME_BYTES = 64;

    private final PooledByteBufAllocator pooled = new PooledByteBufAllocator(true);
    private final AdaptiveByteBufAllocator adaptive = new AdaptiveByteBufAllocator(true);
    private SharedDevice device;
    private Slab slab;

    /** Registers slots and makes this thread their owner. */
    @Setup
    public void open() {
        device = SharedDevice.acquire("soft:loop:slots");
        slab = Slab.allocate(device.protectionDomain(), device.registeredRanges(), 1024, 2048);
        slab.pool().setOwner(Thread.currentThread());
    }

    /** Releases the slots and the device. */
    @TearDown
    public void close() {
        slab.close(device::release);
    }

    /** Uses a slot. */
    @Benchmark
    public long slot() {
        return use(slab.pool().acquire());
    }

    /** Uses a buffer of Netty's pooled allocator. */
    @Benchmark
    public long pooled() {
        return use(pooled.directBuffer(2048));
    }

    /** Uses a buffer of Netty's adaptive allocator. */
    @Benchmark
    public long adaptive() {
        return use(adaptive.directBuffer(2048));
    }

    private static long use(ByteBuf buf) {
        buf.setIndex(0, FRAME_BYTES);
        long header = buf.getLong(0) + buf.getShort(12);
        buf.release();
        return header;
    }
}
