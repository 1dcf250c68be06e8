package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInboundHandlerAdapter;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.net.BindException;
import java.net.InetSocketAddress;

/** The port that a client binds is its own before it connects. */
@Timeout(60)
class ClientBindTest {
    private final StreamFixture fixture = new StreamFixture(LoopDevice.inMemory(), 1, 1);

    @AfterEach
    void shutDown() {
        fixture.close();
    }

    private ChannelFuture bind(String host, int port) throws InterruptedException {
        return fixture.client(new ChannelInboundHandlerAdapter()).bind(new InetSocketAddress(host, port)).await();
    }

    private static int portOf(ChannelFuture bound) {
        return ((InetSocketAddress) bound.channel().localAddress()).getPort();
    }

    @ParameterizedTest
    @ValueSource(strings = {"127.0.0.1", "0.0.0.0", "::"})
    void portIsReservedUntilTheChannelCloses(String host) throws InterruptedException {
        ChannelFuture bound = bind(host, 0).sync();
        int port = portOf(bound);
        assertNotEquals(0, port);
        assertInstanceOf(BindException.class, bind("127.0.0.1", port).cause());
        bound.channel().close().sync();
        bind("127.0.0.1", port).sync();
    }

    @Test
    void connectionHasThePort() throws InterruptedException {
        ChannelFuture bound = bind("0.0.0.0", 0).sync();
        int port = portOf(bound);
        bound.channel().connect(fixture.listen(new StreamFixture.Echo())).sync();
        assertEquals(new InetSocketAddress("127.0.0.1", port), bound.channel().localAddress());
        assertEquals(port, fixture.accepted().remoteAddress().getPort());
        assertInstanceOf(BindException.class, bind("127.0.0.1", port).cause());
    }

    @Test
    void portOfAServerIsTaken() throws InterruptedException {
        ChannelFuture refused = bind("127.0.0.1", fixture.listen(new StreamFixture.Echo()).getPort());
        assertTrue(refused.cause().getMessage().startsWith("Address already in use"), refused.cause().toString());
    }
}
