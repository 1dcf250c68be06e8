package io.rdmaraw.tools.demo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.embedded.EmbeddedChannel;
import io.rdmaraw.tools.frame.EthernetAddresses;
import io.rdmaraw.tools.run.RunFailure;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The verifying side of the demo detects frames that the wire loses, changes or repeats. */
class ProbeHandlerTest {
    private static final int LENGTH = 64;
    private static final int WINDOW = 4;

    private final ProbeHandler probe = new ProbeHandler(2, 1, LENGTH, WINDOW, new RunFailure());
    private final EmbeddedChannel channel = new EmbeddedChannel(probe);
    private ChannelHandlerContext ctx;

    @BeforeEach
    void start() {
        ctx = channel.pipeline().context(probe);
        probe.start(ctx);
    }

    @AfterEach
    void releaseAll() {
        channel.finishAndReleaseAll();
    }

    private ByteBuf sent() {
        ByteBuf frame = channel.readOutbound();
        assertNotNull(frame, "nothing was sent");
        return frame;
    }

    private void echo(ByteBuf frame) {
        EthernetAddresses.swap(frame);
        channel.writeInbound(frame);
    }

    private void assertCounts(long verified, long lost, long corrupt) {
        assertEquals("verified " + verified + " lost " + lost + " corrupt " + corrupt, "verified "
                + probe.verifiedFrames() + " lost " + probe.lostFrames() + " corrupt " + probe.corruptFrames());
    }

    @Test
    void keepsAWindowUnderWay() {
        assertEquals(WINDOW, probe.framesUnderWay());
        for (int i = 0; i < 100; i++) {
            echo(sent());
        }
        assertCounts(100, 0, 0);
        assertEquals(WINDOW, probe.framesUnderWay());
        for (int i = 0; i < WINDOW; i++) {
            sent().release();
        }
        assertNull(channel.readOutbound(), "more than the window is under way");
    }

    @Test
    void aGapIsALossAndIsRefilled() {
        sent().release();
        sent().release();
        echo(sent());
        assertCounts(1, 2, 0);
        assertEquals(WINDOW, probe.framesUnderWay());
    }

    @Test
    void aChangedFrameIsCorrupt() {
        ByteBuf frame = sent();
        frame.setByte(40, frame.getByte(40) ^ 1);
        echo(frame);
        assertCounts(0, 0, 1);
        echo(sent());
        assertCounts(1, 1, 1);
    }

    @Test
    void aRepeatedFrameIsCorrupt() {
        ByteBuf frame = sent();
        ByteBuf again = frame.copy();
        echo(frame);
        echo(again);
        assertCounts(1, 0, 1);
    }

    @Test
    void aFrameThatWasNeverSentIsCorrupt() {
        ByteBuf frame = sent();
        ProbeFrame.stamp(frame, 1000, LENGTH);
        echo(frame);
        assertCounts(0, 0, 1);
    }

    @Test
    void whenAllIsLostItStartsOver() {
        for (int i = 0; i < WINDOW; i++) {
            sent().release();
        }
        probe.abandonInFlight(ctx);
        assertCounts(0, WINDOW, 0);
        echo(sent());
        assertCounts(1, WINDOW, 0);
    }

    @Test
    void afterTheStopItOnlyReceives() {
        probe.stop();
        for (int i = 0; i < WINDOW; i++) {
            echo(sent());
        }
        assertCounts(WINDOW, 0, 0);
        assertEquals(0, probe.framesUnderWay());
        assertNull(channel.readOutbound());
    }
}
