package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.channel.ChannelInboundHandlerAdapter;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;

/**
 * The congestion control and the minimum retransmission timeout of a connection: an option of the channel takes
 * precedence over the configuration of the group.
 */
@Timeout(60)
class CongestionOptionTest {
    private static String inUse(RdmaRawSocketChannel channel) {
        return channel.tcpInfo().syncUninterruptibly().getNow().congestionControl();
    }

    @Test
    void channelOptionOverridesGroupSetting() throws InterruptedException {
        String device = LoopDevice.inMemory().name;
        try (StreamFixture fixture = new StreamFixture(StreamFixture.config(device).congestionControl("reno").build(),
                1, StreamFixture.config(device).build(), 1)) {
            InetSocketAddress server = fixture.listen("127.0.0.1", new StreamFixture.Echo(), settings -> { });
            RdmaRawSocketChannel client = (RdmaRawSocketChannel) fixture.client(new ChannelInboundHandlerAdapter())
                    .option(RdmaRawChannelOption.TCP_CONGESTION, "dctcp").connect(server).sync().channel();
            RdmaRawSocketChannel child = fixture.accepted();
            assertEquals("dctcp", inUse(client));
            assertEquals("dctcp", client.config().getOption(RdmaRawChannelOption.TCP_CONGESTION));
            assertEquals("reno", inUse(child));
            assertEquals("reno", child.config().getOption(RdmaRawChannelOption.TCP_CONGESTION));
            child.config().setOption(RdmaRawChannelOption.TCP_CONGESTION, "cubic");
            assertEquals("cubic", inUse(child), "while it is open");
        }
    }

    @Test
    void unknownNameIsRejectedWithListOfKnownNames() {
        String message = "There is no congestion control named \"fast\", there are bbr, cubic, dctcp, reno";
        RdmaRawSocketChannelConfig config = new RdmaRawSocketChannel().config();
        assertEquals("cubic", config.getOption(RdmaRawChannelOption.TCP_CONGESTION));
        assertEquals(message, assertThrows(IllegalArgumentException.class,
                () -> config.setOption(RdmaRawChannelOption.TCP_CONGESTION, "fast")).getMessage());
        assertEquals("cubic", config.getOption(RdmaRawChannelOption.TCP_CONGESTION));
        assertEquals(message, assertThrows(IllegalArgumentException.class,
                () -> RdmaRawIoHandlerConfig.builder().congestionControl("fast")).getMessage());
    }

    @Test
    void minimumTimeoutIsThatOfGroup() throws InterruptedException {
        String device = LoopDevice.inMemory().name;
        try (StreamFixture fixture = new StreamFixture(StreamFixture.config(device).build(), 1,
                StreamFixture.config(device).minRto(30, TimeUnit.SECONDS).build(), 1)) {
            InetSocketAddress server = fixture.listen(new StreamFixture.Echo());
            RdmaRawSocketChannel client = fixture.connect(server, new ChannelInboundHandlerAdapter());
            long timeout = client.tcpInfo().syncUninterruptibly().getNow().retransmissionTimeoutNanos();
            assertTrue(timeout >= TimeUnit.SECONDS.toNanos(30), () -> timeout + " ns");
        }
        assertThrows(IllegalArgumentException.class,
                () -> RdmaRawIoHandlerConfig.builder().minRto(0, TimeUnit.SECONDS));
    }
}
