package io.rdmaraw.testsuite.verbs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethPair;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import io.rdmaraw.verbs.objects.QueuePair;
import java.io.InputStream;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** This process and the kernel use the same interface at the same time. */
@WithTestNetwork
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class WireCoexistenceTest {
    private static final int OUR_PORT = 7777;
    private static final int KERNEL_PORT = 7778;
    private static final int DATAGRAMS = 20_000;
    private static final int WINDOW = 64;
    private static final int RULE_CHANGES = 10_000;
    private static final int TCP_BYTES = 32 << 20;
    private static final int UDP_HEADERS_BYTES = 14 + 20 + 8;

    /** Starts a concurrent task. The test reads its result, so a failure of the task fails the test. */
    private static <T> FutureTask<T> start(ThreadFactory threads, Callable<T> task) {
        FutureTask<T> future = new FutureTask<>(task);
        threads.newThread(future).start();
        return future;
    }

    @ParameterizedTest
    @ValueSource(strings = {"xdp", "packet"})
    void ourFlowComesToUsAndTheRestToTheKernel(String kind, TestNetwork network) throws Exception {
        VethPair pair = network.withoutCapture().vethPair();
        InetAddress ours = InetAddress.getByName(pair.ours().ipv4());
        AtomicBoolean done = new AtomicBoolean();
        Semaphore window = new Semaphore(WINDOW);
        DatagramSocket kernelSocket = new DatagramSocket(new InetSocketAddress(ours, KERNEL_PORT));
        try (Port port = new Port("soft:" + kind + ':' + pair.ours().name());
                ServerSocket server = new ServerSocket(0, 1, ours)) {
            QueuePair queuePair = port.readyQueuePair();
            ProviderConformance.flow(queuePair, "dst " + pair.ours().ipv4() + " udp dst-port " + OUR_PORT);
            port.receive(queuePair, 2 * WINDOW);
            // The ping makes our MAC address known to the sender's kernel. Datagrams that wait for the address are sent
            // one by one, and a new datagram would overtake them (neigh_update() of net/core/neighbour.c).
            pair.peer().namespace().run("ping", "-q", "-c", "1", pair.ours().ipv4());

            FutureTask<?> sender = start(pair.peer().namespace().threadFactory(), () -> send(ours, window));
            FutureTask<?> echo = start(Thread::new, () -> echo(kernelSocket));
            FutureTask<Integer> asked = start(pair.peer().namespace().threadFactory(), () -> ask(ours));
            FutureTask<byte[]> tcpSent = start(pair.peer().namespace().threadFactory(),
                    () -> sendTcp(ours, server.getLocalPort()));
            FutureTask<byte[]> tcpReceived = start(Thread::new, () -> receiveTcp(server));
            FutureTask<String> ping = start(Thread::new, () -> pair.peer().namespace()
                    .run("ping", "-q", "-c", "40", "-i", "0.05", pair.ours().ipv4()).output());
            FutureTask<?> churn = start(Thread::new, () -> changeRules(kind, pair, done));

            receiveAll(port, queuePair, window);
            done.set(true);
            sender.get();
            assertEquals(200, asked.get(), "answers of the kernel's socket");
            kernelSocket.close();
            echo.get();
            assertArrayEquals(tcpSent.get(), tcpReceived.get(), "the kernel's TCP transfer");
            assertTrue(ping.get().contains(" 0% packet loss"), ping.get());
            churn.get();
        } finally {
            kernelSocket.close();
        }
    }

    private static void receiveAll(Port port, QueuePair queuePair, Semaphore window) {
        for (int next = 0; next < DATAGRAMS;) {
            for (Port.Completion completion : port.poll()) {
                ByteBuffer frame = ByteBuffer.wrap(port.bytes(completion));
                assertEquals(next++, frame.getInt(UDP_HEADERS_BYTES), "datagrams in order, none lost");
                port.receive(queuePair, 1);
                window.release();
            }
        }
    }

    /**
     * Sends from a connected socket, so that an ICMP error from the kernel for a misdirected datagram causes an
     * exception.
     */
    private static Void send(InetAddress to, Semaphore window) throws Exception {
        try (DatagramSocket socket = new DatagramSocket()) {
            socket.connect(to, OUR_PORT);
            for (int i = 0; i < DATAGRAMS; i++) {
                assertTrue(window.tryAcquire(20, TimeUnit.SECONDS), "datagram " + (i - WINDOW) + " did not arrive");
                byte[] bytes = ByteBuffer.allocate(100).putInt(i).array();
                socket.send(new DatagramPacket(bytes, bytes.length));
            }
        }
        return null;
    }

    private static Void echo(DatagramSocket socket) throws Exception {
        DatagramPacket packet = new DatagramPacket(new byte[200], 200);
        while (!socket.isClosed()) {
            try {
                socket.receive(packet);
                socket.send(packet);
            } catch (java.net.SocketException closed) {
                if (!socket.isClosed()) {
                    throw closed;
                }
            }
        }
        return null;
    }

    private static int ask(InetAddress to) throws Exception {
        int answers = 0;
        try (DatagramSocket socket = new DatagramSocket()) {
            socket.connect(to, KERNEL_PORT);
            socket.setSoTimeout(20_000);
            for (int i = 0; i < 200; i++) {
                socket.send(new DatagramPacket(new byte[] {(byte) i}, 1));
                DatagramPacket answer = new DatagramPacket(new byte[2], 2);
                socket.receive(answer);
                assertEquals((byte) i, answer.getData()[0]);
                answers++;
            }
        }
        return answers;
    }

    private static byte[] sendTcp(InetAddress to, int port) throws Exception {
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        Random random = new Random(1);
        byte[] chunk = new byte[1 << 16];
        try (Socket socket = new Socket(to, port)) {
            for (int sent = 0; sent < TCP_BYTES; sent += chunk.length) {
                random.nextBytes(chunk);
                digest.update(chunk);
                socket.getOutputStream().write(chunk);
            }
        }
        return digest.digest();
    }

    private static byte[] receiveTcp(ServerSocket server) throws Exception {
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        byte[] chunk = new byte[1 << 16];
        try (Socket socket = server.accept(); InputStream in = socket.getInputStream()) {
            for (int n = in.read(chunk); n >= 0; n = in.read(chunk)) {
                digest.update(chunk, 0, n);
            }
        }
        return digest.digest();
    }

    /** Adds and removes rules of one shape, with one of another shape every hundred rules. */
    private static Void changeRules(String kind, VethPair pair, AtomicBoolean done) {
        try (Port port = new Port("soft:" + kind + ':' + pair.ours().name())) {
            QueuePair queuePair = port.readyQueuePair();
            for (int i = 0; i < RULE_CHANGES || !done.get(); i++) {
                String rule = i % 100 == 0 ? "src 10.9.9.9 udp src-port 9 priority " + i / 100 % 8
                        : "dst " + pair.ours().ipv4() + " udp dst-port " + (10_000 + i % 50);
                ProviderConformance.flow(queuePair, rule).close();
            }
        }
        return null;
    }
}
