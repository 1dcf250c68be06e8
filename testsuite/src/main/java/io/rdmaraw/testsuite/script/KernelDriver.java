package io.rdmaraw.testsuite.script;

import io.rdmaraw.testsuite.sim.Packet;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import jdk.net.ExtendedSocketOptions;

/**
 * Plays scripts against the Linux kernel: its socket lives in a separate network namespace, the script behind a
 * TUN device.
 */
final class KernelDriver implements ScriptDriver {
    private static final String OUR_IP = "10.77.0.1";
    private static final String PEER_IP = "10.77.0.2";
    private static final long OURS = 0xffff_0a4d_0001L;
    private static final long PEER = 0xffff_0a4d_0002L;
    private static final int RECEIVE_BUFFER_BYTES = 65_536;
    private static final int GLANCE_MILLIS = 5;

    private final TunDevice tun;
    private final ByteBuffer scratch = ByteBuffer.allocate(1 << 17);
    private ServerSocketChannel server;
    private SocketChannel socket;
    private boolean readsAtOnce;
    private int delivered;
    private boolean end;
    private boolean reset;

    KernelDriver() {
        try {
            tun = new TunDevice("rrscript0");
            run("ip", "addr", "add", OUR_IP + "/24", "dev", "rrscript0");
            run("ip", "link", "set", "rrscript0", "up");
            run("ip", "link", "set", "lo", "up");
            run("sh", "-c", "echo 0 > /proc/sys/net/ipv4/tcp_ecn");
            // As RFC 6298 requires. Since 6.5, Linux may send the first SYNs at intervals of a second.
            run("sh", "-c", "f=/proc/sys/net/ipv4/tcp_syn_linear_timeouts; test ! -e $f || echo 0 > $f");
            // The host may configure another congestion control for all sockets, such as BBR.
            run("ip", "route", "replace", "10.77.0.0/24", "dev", "rrscript0", "src", OUR_IP, "congctl", "cubic");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Runs a command in the namespace of the calling thread, which child processes inherit. */
    private static void run(String... command) throws IOException {
        try {
            Process process = new ProcessBuilder(command).inheritIO().start();
            if (process.waitFor() != 0) {
                throw new IOException(String.join(" ", command) + " failed with " + process.exitValue());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException(e);
        }
    }

    @Override
    public long ourAddress() {
        return OURS;
    }

    @Override
    public long peerAddress() {
        return PEER;
    }

    @Override
    public void listen(boolean reads) {
        readsAtOnce = reads;
        attempt(() -> {
            server = ServerSocketChannel.open();
            server.setOption(StandardSocketOptions.SO_REUSEADDR, true);
            server.setOption(StandardSocketOptions.SO_RCVBUF, RECEIVE_BUFFER_BYTES);
            server.bind(new InetSocketAddress(OUR_IP, OUR_PORT));
            server.configureBlocking(false);
        });
    }

    @Override
    public void connect(boolean reads) {
        readsAtOnce = reads;
        attempt(() -> {
            socket = SocketChannel.open();
            socket.setOption(StandardSocketOptions.SO_RCVBUF, RECEIVE_BUFFER_BYTES);
            prepare();
            socket.bind(new InetSocketAddress(OUR_IP, OUR_PORT));
            socket.configureBlocking(false);
            socket.connect(new InetSocketAddress(PEER_IP, PEER_PORT));
        });
    }

    /** Disables Nagle's algorithm, as in the core's configuration. */
    private void prepare() throws IOException {
        socket.setOption(StandardSocketOptions.TCP_NODELAY, true);
    }

    /** An operation on sockets. */
    private interface Work {
        void run() throws IOException;
    }

    private static void attempt(Work work) {
        try {
            work.run();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void inject(byte[] packet) {
        // The kernel processes the packet within this call, because a TUN device has no receive queue.
        attempt(() -> tun.write(packet));
        serveUser();
    }

    @Override
    public void icmp(IcmpMessage message, Packet quoted, int mtuBytes) {
        attempt(() -> tun.write(message.encode(PEER, quoted, mtuBytes)));
        serveUser();
    }

    @Override
    public Packet await(long timeoutMillis) {
        long deadline = System.nanoTime() + timeoutMillis * 1_000_000;
        while (true) {
            serveUser();
            long left = (deadline - System.nanoTime()) / 1_000_000;
            byte[][] read = new byte[1][];
            attempt(() -> read[0] = tun.read(Math.clamp(left, 0, GLANCE_MILLIS)));
            Packet packet = read[0] == null ? null : tcpOf(read[0]);
            if (packet != null || left <= 0) {
                return packet;
            }
        }
    }

    private static Packet tcpOf(byte[] bytes) {
        boolean ipv4Tcp = bytes.length > 9 && bytes[0] >> 4 == 4 && bytes[9] == 6;
        return ipv4Tcp ? Packet.decode(bytes) : null;
    }

    /** Accepts the connection, completes connecting and reads, as a waiting user does. */
    private void serveUser() {
        try {
            if (server != null && socket == null) {
                socket = server.accept();
                if (socket != null) {
                    socket.configureBlocking(false);
                    prepare();
                }
            }
            if (socket != null && socket.isOpen() && socket.isConnectionPending()) {
                socket.finishConnect();
            }
            if (socket != null && socket.isConnected() && readsAtOnce) {
                take(scratch.capacity());
            }
        } catch (IOException e) {
            reset = true;
        }
    }

    private void take(int most) throws IOException {
        if (end || !socket.isOpen()) {
            return;
        }
        int count = socket.read(scratch.clear().limit(most));
        end = count < 0;
        delivered += Math.max(count, 0);
    }

    @Override
    public void send(int bytes) {
        serveUser();
        attempt(() -> socket.write(ByteBuffer.allocate(bytes)));
    }

    @Override
    public void read(int bytes) {
        attempt(() -> take(bytes));
    }

    @Override
    public int delivered() {
        serveUser();
        return delivered;
    }

    @Override
    public boolean sawEnd() {
        serveUser();
        return end;
    }

    @Override
    public boolean sawReset() {
        serveUser();
        if (socket != null && !readsAtOnce) {
            try {
                int before;
                do {
                    before = delivered;
                    take(scratch.capacity());
                } while (delivered > before);
            } catch (IOException e) {
                reset = true;
            }
        }
        return reset;
    }

    @Override
    public void keepAlive() {
        serveUser();
        attempt(() -> {
            socket.setOption(ExtendedSocketOptions.TCP_KEEPIDLE, 1);
            socket.setOption(ExtendedSocketOptions.TCP_KEEPINTERVAL, 1);
            socket.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
        });
    }

    @Override
    public void nagle() {
        serveUser();
        attempt(() -> socket.setOption(StandardSocketOptions.TCP_NODELAY, false));
    }

    @Override
    public void shutdownOutput() {
        serveUser();
        attempt(() -> socket.shutdownOutput());
    }

    @Override
    public void closeSocket() {
        serveUser();
        attempt(() -> {
            socket.close();
            socket = null;
        });
    }

    @Override
    public void abort() {
        serveUser();
        attempt(() -> {
            socket.setOption(StandardSocketOptions.SO_LINGER, 0);
            socket.close();
        });
    }

    @Override
    public void close() {
        attempt(() -> {
            if (socket != null) {
                socket.close();
            }
            if (server != null) {
                server.close();
            }
        });
        tun.close();
    }
}
