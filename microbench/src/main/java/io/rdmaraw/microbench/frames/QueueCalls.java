package io.rdmaraw.microbench.frames;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.queue.FrameQueueOptions;
import io.rdmaraw.queue.ReceiveBurst;
import io.rdmaraw.queue.SharedDevice;
import io.rdmaraw.tools.command.ToolException;
import io.rdmaraw.tools.frame.FrameTemplate;
import io.rdmaraw.verbs.DirectAccess;
import io.rdmaraw.verbs.StridingReceive;
import io.rdmaraw.verbs.flow.FlowSpec;
import io.rdmaraw.verbs.objects.CompletionChannel;
import io.rdmaraw.verbs.objects.Flow;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/**
 * Drives a frame queue on a stopped device to measure the time that the queue itself needs. For sending, this is the
 * time to describe and post frames and to poll their completions. For receiving, it is the time to poll completions and
 * to post the slots again.
 */
final class QueueCalls implements AutoCloseable {
    private static final String UNUSED_MAC = "02:00:00:00:00:02";
    private static final int BURST = FrameQueue.MAX_BURST_FRAMES;

    private final EmulatedDevice device;
    private final SharedDevice shared;
    private final CompletionChannel channel;
    private final FrameQueue queue;
    private final Flow flow;
    private final Arena arena = Arena.ofConfined();
    private final MemorySegment incoming;
    private final byte[] outgoing;
    private final FrameBuf[] frames = new FrameBuf[BURST];
    private final ReceiveBurst burst = new ReceiveBurst();

    /** The implementation that drives the queue. */
    record Mode(DirectAccess directVerbs, boolean compressed, StridingReceive striding) {
        static final Mode CALLS = new Mode(DirectAccess.NEVER, false, StridingReceive.NEVER);
        static final Mode RINGS = new Mode(DirectAccess.REQUIRED, false, StridingReceive.NEVER);
        static final Mode COMPRESSED = new Mode(DirectAccess.REQUIRED, true, StridingReceive.NEVER);
        static final Mode STRIDING = new Mode(DirectAccess.REQUIRED, false, StridingReceive.REQUIRED);
        static final Mode STRIDING_COMPRESSED = new Mode(DirectAccess.REQUIRED, true, StridingReceive.REQUIRED);

        FrameQueueOptions options() {
            return new FrameQueueOptions(1024, 1024, 4, 4096, 2048, directVerbs, compressed, striding);
        }
    }

    /** @param mac the address of the queue's flow rule, different for each queue of a device */
    QueueCalls(EmulatedDevice device, String deviceName, String mac, int frameBytes, Mode mode) {
        this.device = device;
        shared = SharedDevice.acquire(deviceName);
        channel = shared.context().createCompletionChannel();
        queue = FrameQueue.open(shared, shared.context().ownPort(), channel, mode.options());
        flow = queue.steer(FlowSpec.builder().destinationMac(mac).allowHostTraffic().build());
        byte[] frame = FrameTemplate.parse("eth(dst=" + mac + ")/ipv4/udp").build(frameBytes);
        incoming = arena.allocate(frameBytes).copyFrom(MemorySegment.ofArray(frame));
        outgoing = FrameTemplate.parse("eth(dst=" + UNUSED_MAC + ")/ipv4/udp").build(frameBytes);
    }

    /** Sends bursts and returns the nanoseconds per frame of the median burst. */
    double send(int bursts) {
        long[] nanos = new long[bursts];
        for (int b = 0; b < bursts; b++) {
            for (int i = 0; i < BURST; i++) {
                frames[i] = queue.slots().acquire();
                frames[i].writeBytes(outgoing);
            }
            long start = System.nanoTime();
            for (int i = 0; i < BURST; i++) {
                queue.offer(frames[i]);
            }
            queue.post();
            long posted = System.nanoTime();
            device.work();
            long polled = System.nanoTime();
            int released = queue.reclaim();
            nanos[b] = System.nanoTime() - polled + posted - start;
            if (released != BURST) {
                throw new ToolException(released + " of " + BURST + " frames were sent");
            }
        }
        return perFrame(nanos);
    }

    /** Receives bursts and returns the nanoseconds per frame of the median burst. */
    double receive(int bursts) {
        long[] nanos = new long[bursts];
        for (int b = 0; b < bursts; b++) {
            for (int i = 0; i < BURST; i++) {
                device.receive(incoming);
            }
            device.work();
            long start = System.nanoTime();
            int received = queue.receive(burst);
            nanos[b] = System.nanoTime() - start;
            if (received != BURST) {
                throw new ToolException(received + " of " + BURST + " frames came in");
            }
            for (int i = 0; i < BURST; i++) {
                ByteBuf frame = burst.takeFrame(i);
                frame.release();
            }
        }
        return perFrame(nanos);
    }

    /** Returns the median per frame. The thread is sometimes preempted during a burst, which would distort a mean. */
    private static double perFrame(long[] nanos) {
        Arrays.sort(nanos);
        return (double) nanos[nanos.length / 2] / BURST;
    }

    @Override
    public void close() {
        flow.close();
        queue.close();
        channel.close();
        shared.release();
        arena.close();
    }
}
