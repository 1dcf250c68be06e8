package io.rdmaraw.testsuite.socket;

import io.netty.channel.socket.DatagramPacket;
import io.rdmaraw.channel.RdmaRawDatagramChannel;
import io.rdmaraw.channel.RdmaRawDatagramStatistics;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.testsuite.leak.LeakExtension;
import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.KnownRoutes;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethPair;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.function.ToLongFunction;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Exchanges datagrams with the Linux kernel over a link with an MTU of 9,000 bytes. Some tests change the MTU. */
@WithTestNetwork
@ExtendWith(LeakExtension.class)
class DatagramJumboOverVethTest {
    private static final int LARGE_MTU = 9000;
    private static final int USUAL_MTU = 1500;
    private static final int SLOTS = 1024;
    /** Payload lengths: one frame, one full frame, one byte more, several fragments, the maximum of UDP over IPv4. */
    private static final int[] LENGTHS = {1000, 8000, LARGE_MTU - 28, LARGE_MTU - 27, 20_000, 65_507};

    private DatagramEchoHost echo;
    private VethPair pair;
    private RdmaRawDatagramChannel server;

    @BeforeEach
    void open(TestNetwork network) {
        echo = new DatagramEchoHost(network);
        pair = echo.pair();
        setMtu(LARGE_MTU);
    }

    private void setMtu(int mtuBytes) {
        pair.ours().setMtu(mtuBytes);
        pair.peer().setMtu(mtuBytes);
    }

    private void start(int slotBytes) throws InterruptedException {
        echo.start(provider(), RdmaRawIoHandlerConfig.builder().slotBytes(slotBytes).slotCount(SLOTS)
                .receiveQueueDepth(SLOTS / 4).sendQueueDepth(SLOTS / 4));
        server = echo.server();
    }

    @AfterEach
    void close() {
        echo.close();
    }

    private void assertEchoes(String from, String to, int lengthBytes) throws Exception {
        byte[] question = new byte[lengthBytes];
        for (int i = 0; i < lengthBytes; i++) {
            question[i] = (byte) (i * 31 + i / 256);
        }
        try (DatagramSocket socket = pair.peer().namespace().call(() -> new DatagramSocket(
                new InetSocketAddress(InetAddress.ofLiteral(from), 0)))) {
            socket.setSoTimeout(Await.PATIENCE_MILLIS);
            socket.setSendBufferSize(1 << 20);
            socket.send(new java.net.DatagramPacket(question, lengthBytes, InetAddress.ofLiteral(to),
                    echo.port()));
            java.net.DatagramPacket answer = new java.net.DatagramPacket(new byte[65_535], 65_535);
            socket.receive(answer);
            assertArrayEquals(question, Arrays.copyOf(answer.getData(), answer.getLength()));
        }
    }

    private void assertEchoes(int lengthBytes) throws Exception {
        assertEchoes(pair.peer().ipv4(), pair.ours().ipv4(), lengthBytes);
        assertEchoes(pair.peer().ipv6(), pair.ours().ipv6(), lengthBytes - 20);
    }

    private long count(ToLongFunction<RdmaRawDatagramStatistics> counter) throws Exception {
        return echo.onLoop(() -> counter.applyAsLong(server.statistics()));
    }

    @Test
    void longDatagramsGoBothWays() throws Exception {
        start(16_384);
        for (int lengthBytes : LENGTHS) {
            assertEchoes(lengthBytes);
        }
        assertEquals(2 * 3, count(s -> s.receivedByKernel()), "only those in fragments");
        // The boundary lengths (8,973 and 8,953 bytes) make 2 fragments, 20,000 bytes 3, 65,507 and 65,487 bytes 8.
        assertEquals(2 * (2 + 3 + 8), count(s -> s.sentFragments()));
    }

    @Test
    void theMtuShrinksAndGrowsAgain() throws Exception {
        start(16_384);
        assertEchoes(8000);
        assertEquals(0, count(s -> s.sentFragments()));
        setMtu(USUAL_MTU);
        // Until then, the loop sends frames that are too long for the link, and the link loses them.
        KnownRoutes.await(echo.namespace(), pair.peer().ipv4(), path -> path.mtuBytes() == USUAL_MTU);
        KnownRoutes.await(echo.namespace(), pair.peer().ipv6(), path -> path.mtuBytes() == USUAL_MTU);
        awaitFragments(8000, 2 * 6);
        setMtu(LARGE_MTU);
        awaitFragments(8000, 0);
    }

    /** Repeats the exchange until the loop has learned of the MTU change and sends the expected number of fragments. */
    private void awaitFragments(int lengthBytes, int wanted) throws Exception {
        long beganNanos = System.nanoTime();
        long sent = -1;
        while (sent != wanted && System.nanoTime() - beganNanos < Await.PATIENCE.toNanos()) {
            long before = count(s -> s.sentFragments());
            assertEchoes(lengthBytes);
            sent = count(s -> s.sentFragments()) - before;
        }
        assertEquals(wanted, sent);
    }

    /** A device opened for the old MTU loses frames that are longer. Shorter frames still arrive. */
    @Test
    void framesAboveTheMtuAtOpeningAreLostAfterTheMtuGrows() throws Exception {
        setMtu(USUAL_MTU);
        start(2048);
        assertEchoes(1000);
        setMtu(LARGE_MTU);
        byte[] tooLong = new byte[8000];
        try (DatagramSocket socket = pair.peer().namespace().call(() -> new DatagramSocket())) {
            for (int i = 0; i < 100; i++) {
                socket.send(new java.net.DatagramPacket(tooLong, tooLong.length,
                        InetAddress.ofLiteral(pair.ours().ipv4()), echo.port()));
            }
        }
        assertEchoes(1000);
        assertTrue(server.isActive());
    }

    /** Returns the prefix of the device name; the interface's name follows it. */
    String provider() {
        return "soft:packet:";
    }
}
