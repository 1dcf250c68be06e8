package io.rdmaraw.queue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.verbs.DirectAccess;
import io.rdmaraw.verbs.StridingReceive;
import io.rdmaraw.verbs.objects.CompletionChannel;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The device refuses single frames of a burst. Sends through libibverbs. */
@Tag("softverbs")
class SendRefusalTest {
    private static final int DEPTH = 64;
    private static final int FRAME_BYTES = 100;

    private final SharedDevice device = SharedDevice.acquire("soft:loop:refusals");
    private final CompletionChannel channel = device.context().createCompletionChannel();
    private final FrameQueue queue = FrameQueue.open(device, 1, channel,
            new FrameQueueOptions(64, DEPTH, 8, 1024, 2048, DirectAccess.NEVER, false, StridingReceive.NEVER));

    @AfterEach
    void close() {
        queue.close();
        channel.close();
        device.release();
    }

    private void offerGood() {
        assertEquals(FrameQueue.ACCEPTED, queue.offer(Unpooled.buffer(FRAME_BYTES).writeZero(FRAME_BYTES)));
    }

    /** Offers a frame that the device refuses: a TSO payload with a segment length of 0. */
    private void offerBad() {
        FrameBuf headers = queue.slots().acquire();
        FrameBuf payload = queue.slots().acquire();
        headers.writeZero(54);
        payload.writeZero(FRAME_BYTES);
        assertEquals(FrameQueue.ACCEPTED, queue.offerTso(headers, new ByteBuf[] {payload}, new int[1],
                new int[] {FRAME_BYTES}, 1, 0));
    }

    /** The last frame of a burst requests the completion that also releases the frames before it. */
    @ParameterizedTest
    @CsvSource({"1", "5", "31", "32", "33", "63"})
    void framesBeforeARefusedLastFrameAreReleased(int goodFrames) {
        int slotsBefore = queue.slots().available();
        for (int burst = 0; burst < 3 * DEPTH; burst++) {
            int good = Math.min(goodFrames, queue.sendRoom() - 1);
            assertTrue(good > 0, "burst " + burst + " finds no room: " + queue.inFlight() + " frames in flight");
            for (int i = 0; i < good; i++) {
                offerGood();
            }
            offerBad();
            assertEquals(1L << good, queue.post());
            queue.reclaim();
        }
        offerGood();
        assertEquals(0, queue.post());
        queue.reclaim();
        assertEquals(0, queue.inFlight());
        assertEquals(slotsBefore, queue.slots().available());
    }

    @Test
    void onlyRefusedFramesOfABurstAreLost() {
        for (int burst = 0; burst < 3 * DEPTH; burst++) {
            offerBad();
            offerGood();
            offerBad();
            offerBad();
            offerGood();
            offerBad();
            assertEquals(0b101101, queue.post());
            offerBad();
            assertEquals(1, queue.post());
            offerBad();
            offerGood();
            assertEquals(1, queue.post());
            queue.reclaim();
            assertEquals(0, queue.inFlight());
        }
        assertEquals(3L * DEPTH * 3, queue.counters().sentFrames);
        assertEquals(3L * DEPTH * 3 * FRAME_BYTES, queue.counters().sentBytes);
        assertEquals(3L * DEPTH * 6, queue.counters().refusedFrames);
    }
}
