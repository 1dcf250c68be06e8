package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelFuture;
import io.rdmaraw.queue.QueueCounters;
import io.rdmaraw.queue.VerbsFrameQueue;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Numbered frames that pass one way between two loops of their own. */
final class FramePair implements AutoCloseable {
    private static final int FRAME_BYTES = 64;

    final FrameQueueHandler handler = new FrameQueueHandler();
    final RdmaRawChannel receiver;
    final RdmaRawChannel sender;
    private final RdmaRawEventLoopGroup receiving = new RdmaRawEventLoopGroup(1);
    private final RdmaRawEventLoopGroup sending = new RdmaRawEventLoopGroup(1);
    private final byte[] to;
    private final byte[] from;
    private final VerbsFrameQueue receives;
    private final VerbsFrameQueue sends;
    int sent;
    int received;
    private int last = -1;
    private int mark;
    private int receivedSinceMark;

    FramePair(LoopDevice device, byte[] to, byte[] from) {
        this.to = to;
        this.from = from;
        receiver = device.bind(receiving, device.to(to), handler);
        sender = device.bind(sending, device.sendOnly(), new FrameQueueHandler());
        receives = (VerbsFrameQueue) receiver.port().queue();
        sends = (VerbsFrameQueue) sender.port().queue();
    }

    void send(int frames) throws InterruptedException {
        ChannelFuture future = null;
        for (int i = 0; i < frames; i++) {
            future = sender.write(LoopDevice.frame(to, from, sent++, FRAME_BYTES));
        }
        sender.flush();
        if (future != null) {
            assertTrue(future.await(Patience.NANOS, TimeUnit.NANOSECONDS), "a write hangs");
        }
    }

    /** The device may be gone: those whose writer is told so were not sent. */
    void sendToNobody(int frames) throws InterruptedException {
        List<ChannelFuture> writes = new ArrayList<>();
        long refusedBefore = sends.counters().refusedFrames;
        for (int i = 0; i < frames; i++) {
            writes.add(sender.writeAndFlush(LoopDevice.frame(to, from, sent++, FRAME_BYTES)));
        }
        for (ChannelFuture write : writes) {
            assertTrue(write.await(Patience.NANOS, TimeUnit.NANOSECONDS), "a write hangs");
            if (!write.isSuccess()) {
                sent--;
            }
        }
        // Those are counted.
        sent += (int) (sends.counters().refusedFrames - refusedBefore);
    }

    /** Takes what has come in: in order, each once, and whole. */
    void take() {
        Object message;
        while ((message = handler.messages.poll()) != null) {
            ByteBuf frame = (ByteBuf) message;
            int number = LoopDevice.number(frame);
            assertTrue(number > last, "frame " + number + " came after " + last);
            ByteBuf expected = LoopDevice.frame(to, from, number, FRAME_BYTES);
            assertEquals(expected, frame);
            expected.release();
            frame.release();
            last = number;
            received++;
            if (number >= mark) {
                receivedSinceMark++;
            }
        }
    }

    /** Counts what is sent from now on. */
    void mark() {
        mark = sent;
        receivedSinceMark = 0;
    }

    int receivedSinceMark() {
        return receivedSinceMark;
    }

    /** Returns how many frames the queues have lost and said so. */
    long counted() {
        QueueCounters counters = sends.counters();
        return counters.lostInFlightFrames + counters.sendErrors + counters.refusedFrames
                + receives.counters().receiveErrors;
    }

    long lostInFlight() {
        return sends.counters().lostInFlightFrames;
    }

    long recoveries() {
        return sends.counters().recoveries + receives.counters().recoveries;
    }

    VerbsFrameQueue queueOf(boolean receive) {
        return receive ? receives : sends;
    }

    void awaitSlots() {
        awaitSlots(receiver);
        awaitSlots(sender);
    }

    private static void awaitSlots(RdmaRawChannel channel) {
        long endNanos = System.nanoTime() + Patience.NANOS;
        int missing;
        do {
            missing = LoopDevice.slotsMissing(channel);
        } while (missing != 0 && System.nanoTime() - endNanos < 0);
        assertEquals(0, missing, "slots lost");
    }

    @Override
    public void close() {
        receiving.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        sending.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
    }

    @Override
    public String toString() {
        QueueCounters counters = sends.counters();
        return sent + " sent, " + received + " received, " + counters.lostInFlightFrames + " lost in flight, "
                + counters.sendErrors + " send errors, " + counters.refusedFrames + " refused, "
                + receives.counters().receiveErrors + " receive errors, "
                + recoveries() + " recoveries";
    }
}
