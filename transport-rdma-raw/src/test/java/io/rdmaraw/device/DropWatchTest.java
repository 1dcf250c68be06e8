package io.rdmaraw.device;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.capture.CapturedFrames;
import io.rdmaraw.capture.FrameCapture;
import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.metrics.internal.FrameDrops;
import io.rdmaraw.metrics.internal.MetricTable;
import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.queue.FrameQueueOptions;
import io.rdmaraw.queue.ReceiveBurst;
import io.rdmaraw.queue.SharedDevice;
import io.rdmaraw.verbs.DirectAccess;
import io.rdmaraw.verbs.StridingReceive;
import io.rdmaraw.verbs.flow.FlowSpec;
import io.rdmaraw.verbs.objects.CompletionChannel;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.ResourceLock;

/** The reasons of captured frames, with receivers that fail in every way. */
@Tag("softverbs")
@Timeout(60)
@ResourceLock("io.rdmaraw.capture")
class DropWatchTest {
    private static final FlowSpec RULE = FlowSpec.builder().destinationMac("02:00:00:00:00:0a").ipv4().tcp()
            .destinationPort(80).build();
    /** A segment to the rule. */
    private static final byte[] SEGMENT = HexFormat.of().parseHex("02000000000a02000000000b0800"
            + "4500002800010000400666af0a0f00020a0f0001" + "07d00050000000010000000150100400" + "00000000");

    private final List<Throwable> failures = new ArrayList<>();
    private final SharedDevice device = SharedDevice.acquire("soft:loop:drop-watch");
    private final CompletionChannel channel = device.context().createCompletionChannel();
    private final DeviceQueue queue = new DeviceQueue(device, 1, channel, Runnable::run,
            new FrameQueueOptions(64, 64, 8, 512, 2048, DirectAccess.NEVER, false, StridingReceive.NEVER),
            Map.of(), failures::add, removed -> { });
    private final CapturedFrames captured = new CapturedFrames(FrameCapture.start(new long[0], 2000, 1 << 20));

    @AfterEach
    void close() {
        captured.close();
        queue.close();
    }

    /** Sends segments as one burst and dispatches them. Returns the reasons of all received frames so far. */
    private List<String> reasonsAfter(int segments) {
        FrameQueue frames = queue.frameQueue();
        for (int i = 0; i < segments; i++) {
            FrameBuf slot = frames.slots().acquire();
            slot.writeBytes(SEGMENT);
            assertEquals(FrameQueue.ACCEPTED, frames.offer(slot));
        }
        assertEquals(0, frames.post());
        for (int received = 0; received < segments; queue.deliver()) {
            received += queue.receive();
        }
        return captured.read().frames().stream().filter(frame -> !frame.sent())
                .map(CapturedFrames.Frame::dropReason).toList();
    }

    /** A receiver that releases its frames. */
    private class Receiver implements FrameReceiver {
        @Override
        public boolean receive(ByteBuf frame, boolean checksumVerified) {
            frame.release();
            return false;
        }

        @Override
        public void endBurst() {
        }

        @Override
        public void onSendRoom() {
        }
    }

    @Test
    void frameWhoseRuleCannotBeJoinedIsDroppedDuringACapture() {
        IllegalStateException planted = new IllegalStateException("planted by a test");
        queue.frameQueue().workQueue();
        device.rssFlows().open(RULE, List.of(queue.frameQueue()), (RssFlowOwner) joining -> {
            throw planted;
        });
        assertEquals(Collections.nCopies(3, "no-channel"), reasonsAfter(3));
        assertEquals(Collections.nCopies(3, planted), failures);
        assertEquals(3, queue.statistics().undeliveredFrames);
    }

    @Test
    void faultWhileReasonsAreRecordedEndsOnlyTheCapture() {
        IllegalStateException planted = new IllegalStateException("planted by a test");
        int[] received = new int[1];
        queue.attach(new Receiver() {
            @Override
            public boolean receive(ByteBuf frame, boolean checksumVerified) {
                received[0]++;
                return super.receive(frame, checksumVerified);
            }

            @Override
            public FrameDrops<?> frameDrops() {
                throw planted;
            }
        }, List.of(RULE));
        reasonsAfter(3);
        reasonsAfter(2);
        assertEquals(5, received[0]);
        assertEquals(List.of(), failures);
        assertEquals(1, captured.read().uncapturedQueues());
    }

    /** A handler replies with a frame that the device refuses: a TSO payload with a segment length of 0. */
    @Test
    void refusedReplyIsNoReasonOfTheReceivedFrame() {
        queue.attach(new Receiver() {
            @Override
            public boolean receive(ByteBuf frame, boolean checksumVerified) {
                FrameQueue replies = queue.frameQueue();
                FrameBuf headers = replies.slots().acquire();
                FrameBuf payload = replies.slots().acquire();
                headers.writeZero(54);
                payload.writeZero(100);
                assertEquals(FrameQueue.ACCEPTED,
                        replies.offerTso(headers, new ByteBuf[] {payload}, new int[1], new int[] {100}, 1, 0));
                assertTrue(replies.post() != 0);
                return super.receive(frame, checksumVerified);
            }
        }, List.of(RULE));
        assertEquals(List.of("", ""), reasonsAfter(2));
        assertEquals(2, queue.frameQueue().counters().refusedFrames);
    }

    /** The loop merges segments of a connection and drops them as one. */
    @Test
    void allFramesOfAMergedSegmentHaveTheReason() {
        long[] duplicates = new long[1];
        MetricTable<long[]> counters = new MetricTable<long[]>()
                .drop("duplicate", of -> of[0], "segments without data");
        queue.attach(new Receiver() {
            @Override
            public int receiveRun(ReceiveBurst burst, int from, int end) {
                for (int i = from; i < end; i++) {
                    (i % 3 == 0 ? burst.takeFrame(i) : burst.takeMergedFrame(i)).release();
                    // The last segment is not dropped.
                    duplicates[0] += i % 3 == 2 ? 1 : 0;
                }
                return end;
            }

            @Override
            public FrameDrops<?> frameDrops() {
                return counters.frameDrops(duplicates);
            }
        }, List.of(RULE));
        List<String> expected = new ArrayList<>(Collections.nCopies(6, "duplicate"));
        expected.addAll(List.of("", ""));
        assertEquals(expected, reasonsAfter(8));
    }
}
