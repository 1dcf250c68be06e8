package io.rdmaraw.tools.demo.sockets;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.netty.channel.embedded.EmbeddedChannel;
import java.nio.channels.ClosedChannelException;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

class EchoClientTest {
    /** With 32 sockets, the hash would leave one of eight loops without a socket in each ninth run. */
    @Test
    void eightLoopsHaveSixteenSocketsEach() {
        assertEquals(128, EchoClient.socketsFor(8));
        assertEquals(32, EchoClient.socketsFor(1));
    }

    @Test
    void exceptionWithoutMessageIsFailure() throws Exception {
        DatagramCheck check = new DatagramCheck(0, DemoHost.SERVER.at(Family.IPV4), 1);
        EchoClient.Socket socket = new EchoClient.Socket(check, new EmbeddedChannel().newFailedFuture(
                new ClosedChannelException()));
        String failure = EchoClient.failureOf(socket, System.nanoTime(), new TreeSet<>());
        assertEquals(ClosedChannelException.class.getName(), failure);
    }
}
