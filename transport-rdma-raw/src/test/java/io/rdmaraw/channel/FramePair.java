package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelFuture;
import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.queue.QueueCounters;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Numbered frames in one direction between two channels, each on its own loop. */
final class FramePair implements AutoCloseable {
    private static final int FRAME_BYTES = 64;

    final FrameQueueHandler handler = new FrameQueueHandler();
    final RdmaRawChannel receiver;
    final RdmaRawChannel sender;
    private final RdmaRawEventLoopGroup receiving = new RdmaRawEventLoopGroup(1);
    private final RdmaRawEventLoopGroup sending = new RdmaRawEventLoopGroup(1);
    private final byte[] to;
    private final byte[] from;
    private final FrameQueue receives;
    private final FrameQueue sends;
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
        receives = receiver.deviceQueue().frameQueue();
        sends = sender.deviceQueue().frameQueue();
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

    /** Sends frames although the device may have been removed. If a write fails, its frame is not counted as sent. */
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
        // Frames refused by the queue are counted there, so they remain in the account.
        sent += (int) (sends.counters().refusedFrames - refusedBefore);
    }

    /** Checks the received frames: in order, without duplicates and intact. */
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

    /** Starts counting the frames that are sent from now on. */
    void mark() {
        mark = sent;
        receivedSinceMark = 0;
    }

    int receivedSinceMark() {
        return receivedSinceMark;
    }

    /** Returns the number of frames that the queues have counted as lost. */
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

    FrameQueue queueOf(boolean receive) {
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
