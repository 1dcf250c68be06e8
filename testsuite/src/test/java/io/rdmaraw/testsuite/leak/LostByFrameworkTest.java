package io.rdmaraw.testsuite.leak;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.util.ResourceLeakDetector;
import io.rdmaraw.testsuite.net.Await;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** A leak is attributed to a framework only if its handler received the buffer and nothing touched the buffer later. */
class LostByFrameworkTest {
    private static final Duration LIMIT = Duration.ofSeconds(30);

    /**
     * Leaks a buffer in a handler named "framework" and returns the leak report.
     *
     * @param touched whether the handler touches the buffer
     */
    private static String reportOfALoss(boolean touched) {
        ResourceLeakDetector.Level level = ResourceLeakDetector.getLevel();
        ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.PARANOID);
        try {
            EmbeddedChannel channel = new EmbeddedChannel();
            channel.pipeline().addLast("framework", new ChannelInboundHandlerAdapter() {
                @Override
                public void channelRead(ChannelHandlerContext ctx, Object message) {
                    if (touched) {
                        ((ByteBuf) message).touch("touched");
                    }
                }
            });
            channel.pipeline().fireChannelRead(
                    UnpooledByteBufAllocator.DEFAULT.directBuffer(1).touch("lost " + touched));
            List<String> reports = new ArrayList<>();
            Await.until("the leak detector", LIMIT, () -> {
                System.gc();
                UnpooledByteBufAllocator.DEFAULT.directBuffer(1).release();
                reports.addAll(RecordingLeakDetector.takeReports());
                return reports.stream().anyMatch(report -> report.contains("lost " + touched));
            });
            return reports.stream().filter(report -> report.contains("lost " + touched)).findFirst().orElseThrow();
        } finally {
            ResourceLeakDetector.setLevel(level);
        }
    }

    @Test
    void aBufferThatTheHandlerGotAndLeftIsItsLoss() {
        String report = reportOfALoss(false);
        assertTrue(LeakExtension.wasLastGivenTo("framework", report), report);
        assertFalse(LeakExtension.wasLastGivenTo("frame", report), report);
    }

    @Test
    void aBufferThatWasTouchedLaterIsNot() {
        String report = reportOfALoss(true);
        assertFalse(LeakExtension.wasLastGivenTo("framework", report), report);
    }
}
