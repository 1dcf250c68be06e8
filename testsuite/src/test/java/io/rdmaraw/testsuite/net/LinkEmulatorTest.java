package io.rdmaraw.testsuite.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.testsuite.sim.Impairment;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;

@WithTestNetwork
class LinkEmulatorTest {
    private static final int DATAGRAMS = 2000;

    @Test
    void theDelayIsThatOfThePath(TestNetwork network) {
        ImpairedPair pair = network.impairedPair(Impairment.NONE.delay(Duration.ofMillis(30)), 1);
        String output = network.current().run("ping", "-c", "3", "-i", "0.2", "-W", "5", pair.peer().ipv4()).output();
        double smallest = Double.parseDouble(output.replaceAll("(?s).*rtt [^=]*= ([0-9.]+)/.*", "$1"));
        assertTrue(smallest >= 60, output);
    }

    @Test
    void theSameFramesAreLostWithTheSameSeed(TestNetwork network) throws Exception {
        Impairment lossy = Impairment.NONE.loss(0.1);
        List<Integer> first = datagramsThatArrive(network.impairedPair(lossy, 7));
        List<Integer> again = datagramsThatArrive(network.impairedPair(lossy, 7));
        List<Integer> other = datagramsThatArrive(network.impairedPair(lossy, 8));
        assertTrue(first.equals(again), "the same fates with the same seed");
        assertTrue(!first.equals(other), "other fates with another seed");
        assertTrue(first.size() > DATAGRAMS * 0.85 && first.size() < DATAGRAMS * 0.95, first.size() + " arrived");
        assertTrue(first.stream().sorted().toList().equals(first), "in order");
    }

    @Test
    void heldBackFramesAreOvertakenAndNoneIsLost(TestNetwork network) throws Exception {
        ImpairedPair pair = network.impairedPair(Impairment.NONE.reorder(0.05, Duration.ofMillis(5)), 1);
        List<Integer> arrived = datagramsThatArrive(pair);
        assertEquals(DATAGRAMS, arrived.size());
        assertTrue(!arrived.stream().sorted().toList().equals(arrived), "some overtook others");
    }

    @Test
    void frameBeyondTheBufferIsDropped(TestNetwork network) throws Exception {
        ImpairedPair pair = network.impairedPair(Impairment.NONE.rate(2_000_000, 20_000), 1);
        int arrived = datagramsThatArrive(pair).size();
        LinkEmulatorCounters toPeer = pair.emulator().toRight();
        assertTrue(toPeer.overflowed() > 0, toPeer.toString());
        assertEquals(DATAGRAMS, arrived + toPeer.overflowed());
        assertEquals(0, toPeer.unkept() + toPeer.kernelDrops() + toPeer.lost(), toPeer.toString());
    }

    @Test
    void aTransferOverAPathWithoutLossLosesNothing(TestNetwork network) throws Exception {
        network.withoutCapture();
        ImpairedPair pair = network.impairedPair(network.namespace(), network.namespace(), Impairment.NONE,
                Impairment.NONE, 1);
        long bytes = Long.getLong("rdmaraw.linkEmulator.bytes", 100_000_000);
        long nanos = transfer(pair, bytes);
        System.out.printf("the link emulator carried %.2f Gbit/s%n", bytes * 8.0 / nanos);
        // The last acknowledgements may still be on their way.
        Await.until("each frame to be delivered", () -> areDelivered(pair.emulator().toRight())
                && areDelivered(pair.emulator().toLeft()));
        for (LinkEmulatorCounters direction : List.of(pair.emulator().toRight(), pair.emulator().toLeft())) {
            assertEquals(0, direction.kernelDrops(), direction.toString());
        }
    }

    private static boolean areDelivered(LinkEmulatorCounters direction) {
        return direction.received() == direction.delivered();
    }

    /** Sends numbered datagrams from our end to the peer. Returns the numbers in order of arrival. */
    private static List<Integer> datagramsThatArrive(ImpairedPair pair) throws Exception {
        InetSocketAddress target = new InetSocketAddress(InetAddress.ofLiteral(pair.peer().ipv4()), 7777);
        try (DatagramChannel to = pair.peer().namespace().call(DatagramChannel::open);
                DatagramChannel from = pair.ours().namespace().call(DatagramChannel::open)) {
            to.setOption(StandardSocketOptions.SO_RCVBUF, 4 << 20);
            to.bind(target);
            to.configureBlocking(false);
            for (int i = 0; i < DATAGRAMS; i++) {
                from.send(ByteBuffer.allocate(100).putInt(0, i), target);
            }
            List<Integer> arrived = new ArrayList<>();
            // Counts the datagrams themselves: the emulator's other counters include the kernel's own frames, and a
            // frame is delivered before the kernel has passed it to the socket.
            Await.until("each datagram to arrive or to be dropped", () -> {
                drain(to, arrived);
                LinkEmulatorCounters done = pair.emulator().toRight();
                return arrived.size() + done.lost() + done.overflowed() >= DATAGRAMS;
            });
            drain(to, arrived);
            return arrived;
        }
    }

    private static void drain(DatagramChannel channel, List<Integer> arrived) {
        ByteBuffer buffer = ByteBuffer.allocate(200);
        try {
            while (channel.receive(buffer.clear()) != null) {
                arrived.add(buffer.getInt(0));
            }
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    private static long transfer(ImpairedPair pair, long bytes) throws Exception {
        InetSocketAddress target = new InetSocketAddress(InetAddress.ofLiteral(pair.peer().ipv4()), 7778);
        try (ServerSocketChannel server = pair.peer().namespace().call(ServerSocketChannel::open);
                SocketChannel client = pair.ours().namespace().call(SocketChannel::open)) {
            server.bind(target);
            client.connect(target);
            FutureTask<Long> reader = new FutureTask<>(() -> readAll(server));
            Thread.ofPlatform().daemon().start(reader);
            long begin = System.nanoTime();
            ByteBuffer buffer = ByteBuffer.allocateDirect(1 << 18);
            for (long left = bytes; left > 0;) {
                buffer.clear().limit((int) Math.min(left, buffer.capacity()));
                left -= client.write(buffer);
            }
            client.shutdownOutput();
            assertEquals(bytes, reader.get());
            return System.nanoTime() - begin;
        }
    }

    private static long readAll(ServerSocketChannel server) throws IOException {
        long total = 0;
        ByteBuffer buffer = ByteBuffer.allocateDirect(1 << 18);
        try (SocketChannel channel = server.accept()) {
            for (int read; (read = channel.read(buffer.clear())) >= 0;) {
                total += read;
            }
        }
        return total;
    }
}
