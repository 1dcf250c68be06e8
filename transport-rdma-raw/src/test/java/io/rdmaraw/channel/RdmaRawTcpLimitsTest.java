package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.tcp.CloseReason;
import io.rdmaraw.tcp.TcpConnection;
import io.rdmaraw.tcp.TcpEngine;
import io.rdmaraw.tcp.TcpEvents;
import io.rdmaraw.tcp.TcpListener;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.TcpFlags;

import java.util.SplittableRandom;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** Limits of the configuration apply to the TCP core of the loops. */
class RdmaRawTcpLimitsTest {
    private static final long HERE = 0xFFFF_0A00_0001L;
    private static final long THERE = 0xFFFF_0A00_0002L;

    /**
     * Opens and closes connections to peers that keep their windows at zero. Returns the number of connections that
     * remain.
     */
    private static int closedOnes(RdmaRawTcpLimits limits, int count) {
        return closedOnes(RdmaRawIoHandlerConfig.builder().tcpLimits(limits).build(), count);
    }

    private static int closedOnes(RdmaRawIoHandlerConfig config, int count) {
        TcpEngine engine = new TcpEngine(config.tcpConfig(1500, 4, 0), new Silent(), new SplittableRandom(1), 0);
        Segment syn = new Segment();
        for (int i = 0; i < count; i++) {
            TcpConnection c = engine.connect(i, 0, HERE, 4000 + i, 0, THERE, 80, null, 0, null);
            while (engine.pollSegment(i, syn) && syn.flags != TcpFlags.SYN) {
                // The ACK of the previous connection.
                syn.releasePayload();
            }
            engine.onSegment(new Segment().source(0, THERE, 80).destination(0, HERE, 4000 + i)
                    .flags(TcpFlags.SYN | TcpFlags.ACK).seq(1).ack(syn.seq + 1).mss(1000).window(0), i);
            c.close();
        }
        return engine.connectionCount();
    }

    @Test
    void configuredLimitApplies() {
        assertEquals(10, closedOnes(new RdmaRawTcpLimits(), 10));
        assertEquals(3, closedOnes(new RdmaRawTcpLimits().maxOrphans(3), 10));
    }

    @Test
    void laterChangesAreNotSeen() {
        RdmaRawTcpLimits limits = new RdmaRawTcpLimits().maxOrphans(3);
        RdmaRawIoHandlerConfig config = RdmaRawIoHandlerConfig.builder().tcpLimits(limits).build();
        limits.maxOrphans(7);
        assertEquals(3, closedOnes(config, 10));
        assertEquals(7, closedOnes(limits, 10));
    }

    @Test
    void valueOutOfRangeIsRejectedWithItsName() {
        refused("maxOrphans", l -> l.maxOrphans(0));
        refused("maxOrphanBytes", l -> l.maxOrphanBytes(-1));
        refused("minSendMss", l -> l.minSendMss(47));
        refused("maxSegmentsInFlight", l -> l.maxSegmentsInFlight(63));
        refused("maxReceiveBytes", l -> l.maxReceiveBytes(65_535));
        refused("maxOutOfOrderRanges", l -> l.maxOutOfOrderRanges(3));
        refused("orphanRetries", l -> l.orphanRetries(61));
    }

    private static void refused(String name, Consumer<RdmaRawTcpLimits> setting) {
        IllegalArgumentException refusal = assertThrows(IllegalArgumentException.class,
                () -> setting.accept(new RdmaRawTcpLimits()));
        assertEquals(name, refusal.getMessage().split(" ")[0]);
    }

    private static final class Silent implements TcpEvents {
        @Override
        public void connected(TcpConnection connection) {
        }

        @Override
        public void accepted(TcpListener listener, TcpConnection connection) {
        }

        @Override
        public void data(TcpConnection connection, ByteBuf buffer, int index, int length) {
        }

        @Override
        public void peerFinished(TcpConnection connection) {
        }

        @Override
        public void acked(TcpConnection connection, int bytes) {
        }

        @Override
        public void closed(TcpConnection connection, CloseReason reason) {
        }
    }
}
