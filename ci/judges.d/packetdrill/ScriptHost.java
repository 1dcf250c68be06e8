// SPDX-License-Identifier: Apache-2.0

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.rdmaraw.tcp.CloseReason;
import io.rdmaraw.tcp.TcpConfig;
import io.rdmaraw.tcp.TcpConnection;
import io.rdmaraw.tcp.TcpEngine;
import io.rdmaraw.tcp.TcpEvents;
import io.rdmaraw.tcp.TcpLimits;
import io.rdmaraw.tcp.TcpListener;
import io.rdmaraw.tcp.congestion.CongestionControls;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.testsuite.sim.SegmentCodec;
import io.rdmaraw.testsuite.sim.SplitMix;
import io.rdmaraw.wire.IcmpErrorKind;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * The host of one script: the TCP core, its sockets and the virtual clock. The clock runs while packetdrill sleeps or
 * waits for a packet. The settings are files as below /proc/sys, which the script's own commands write.
 */
final class ScriptHost implements TcpEvents {
    private static final int MICRO = 1_000;
    private static final long START_NANOS = 1_000_000_000_000L;
    private static final long LIMIT_NANOS = 1_000_000_000_000L;
    private static final int FIRST_FD = 1000;
    private static final int SPINS = 3;
    private static final long SPIN_NANOS = 2_000;
    /** Wall-clock time after which a call that waits moves the virtual clock itself. */
    private static final long PATIENCE_MILLIS = 3_000;
    private static final long SETTLING_NANOS = 200_000_000;
    /** Wall-clock time for a call that another thread has begun to arrive here. */
    private static final long ARRIVING_NANOS = 30_000_000;
    private static final int MSG_DONTWAIT = 0x40;
    private static final int MSG_PEEK = 2;
    private static final int MSG_ERRQUEUE = 0x2000;
    private static final int MSG_MORE = 0x8000;
    private static final int MSG_FASTOPEN = 0x20000000;
    private static final int O_NONBLOCK = 04000;
    private static final int O_RDWR = 2;
    private static final int AF_INET = 2;
    private static final long MAPPED = 0xffff_0000_0000L;
    private static final long OURS_IPV4 = MAPPED | 0xc0a8_0001L;
    private static final long OURS_IPV6_HIGH = 0xfd3d_0a0b_17d6_0000L;
    private static final int FIRST_PORT = 40_000;
    private static final int TCP_PROTOCOL = 6;
    private static final int POLL_BYTES = 8;
    private static final int POLLIN = 1;
    private static final int POLLOUT = 4;
    private static final int POLLERR = 8;
    private static final int POLLHUP = 16;
    private static final int POLLRDHUP = 0x2000;

    private record Sent(long nanos, byte[] packet) {
    }

    private final Path settings;
    private final SegmentCodec codec;
    private final Segment in = new Segment();
    private final Segment out = new Segment();
    private final ArrayDeque<Sent> wire = new ArrayDeque<>();
    private final Map<Integer, ScriptSocket> sockets = new HashMap<>();
    private TcpEngine engine;
    private long nowNanos = START_NANOS;
    private int nextFd = FIRST_FD;
    private int nextPort = FIRST_PORT;
    private int spins;
    private long calls;
    private int waiting;
    /** Threads whose calls have waited and ended, and which have not read the clock since. */
    private final Set<Thread> ending = new HashSet<>();

    ScriptHost(Path settings) {
        this.settings = settings;
        codec = new SegmentCodec();
    }

    // ---- settings ----

    private String setting(String name, String otherwise) {
        try {
            return Files.readString(settings.resolve("net/ipv4").resolve(name)).strip();
        } catch (IOException e) {
            return otherwise;
        }
    }

    private int number(String name, int otherwise) {
        String text = setting(name, "");
        return text.isEmpty() ? otherwise : Long.decode(text.split("\\s+")[0]).intValue();
    }

    private static TcpConfig.EcnMode ecn(int value) {
        return switch (value) {
            case 0 -> TcpConfig.EcnMode.OFF;
            case 1 -> TcpConfig.EcnMode.ACTIVE;
            case 3 -> TcpConfig.EcnMode.ACCURATE;
            case 4, 5 -> TcpConfig.EcnMode.ACCURATE_PASSIVE;
            default -> TcpConfig.EcnMode.PASSIVE;
        };
    }

    /**
     * Made for the first socket that listens or connects, when the script's first command has written the settings.
     * All sockets of a script have the receive buffer of this one.
     */
    private TcpEngine engine(int receiveBufferBytes) {
        if (engine == null) {
            String[] receive = setting("tcp_rmem", "4096 131072 6291456").split("\\s+");
            if (receiveBufferBytes > 0) {
                Arrays.fill(receive, Integer.toString(receiveBufferBytes));
            }
            TcpConfig.Builder config = TcpConfig.builder()
                    .ecn(ecn(number("tcp_ecn", 2))).accEcnOption(number("tcp_ecn_option", 2) != 0)
                    .timestamps(number("tcp_timestamps", 1) != 0)
                    .sack(number("tcp_sack", 1) != 0).windowScaling(number("tcp_window_scaling", 1) != 0)
                    .initialReceiveBufferBytes(Integer.parseInt(receive[1]))
                    .maxReceiveBufferBytes(Integer.parseInt(receive[2]))
                    .synRetries(number("tcp_syn_retries", 6)).synAckRetries(number("tcp_synack_retries", 5))
                    .challengeAckIntervalNanos(number("tcp_invalid_ratelimit", 500) * 1_000_000L)
                    .noDelay(false).pacing(false).segmentationBytes(TcpConfig.MAX_SEGMENTATION_BYTES)
                    .limits(TcpLimits.builder().minSendMss(48).build());
            String congestion = setting("tcp_congestion_control", "cubic");
            config.congestionControl(CongestionControls.named("reno".equals(congestion) ? "reno" : congestion));
            engine = new TcpEngine(config.build(), this, new SplitMix(1)::nextLong, nowNanos);
        }
        return engine;
    }

    // ---- time ----

    private void pump() {
        if (engine == null) {
            return;
        }
        if (engine.nextDeadlineNanos() <= nowNanos) {
            engine.advance(nowNanos);
        }
        while (engine.pollSegment(nowNanos, out)) {
            wire.add(new Sent(nowNanos, codec.encode(out)));
            out.releasePayload();
        }
        notifyAll();
    }

    private long nextDeadline() {
        return engine == null ? Long.MAX_VALUE : engine.nextDeadlineNanos();
    }

    private void advanceTo(long nanos) {
        while (nextDeadline() <= nanos) {
            nowNanos = Math.max(nowNanos, nextDeadline());
            pump();
        }
        nowNanos = Math.max(nowNanos, nanos);
        pump();
    }

    /** Gives a call that could end now some wall-clock time to end, and its thread time to read the clock. */
    private void letOthersEnd() {
        long from = System.nanoTime();
        while (System.nanoTime() - from < (waiting > 0 || !ending.isEmpty() ? SETTLING_NANOS : ARRIVING_NANOS)) {
            try {
                wait(1);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return;
            }
        }
    }

    private interface Attempt {
        /** Returns the answer, or null to wait. */
        Answer tryNow();
    }

    /** Waits until there is an answer. A time of 0 is for ever; then the answer is {@code late}. */
    private Answer await(Attempt attempt, long untilNanos, Answer late) {
        while (true) {
            Answer answer = attempt.tryNow();
            if (answer != null) {
                return answer;
            }
            if (nowNanos >= untilNanos) {
                return late;
            }
            long before = calls;
            long waitedFrom = System.nanoTime();
            waiting++;
            ending.add(Thread.currentThread());
            try {
                wait(PATIENCE_MILLIS);
            } catch (InterruptedException e) {
                return Answer.error(Answer.EINTR);
            } finally {
                waiting--;
            }
            if (calls == before && System.nanoTime() - waitedFrom >= PATIENCE_MILLIS * 1_000_000) {
                long next = Math.min(nextDeadline(), untilNanos);
                if (next != Long.MAX_VALUE) {
                    advanceTo(next);
                }
            }
        }
    }

    // ---- calls ----

    synchronized Answer call(int operation, long[] a, byte[] payload) {
        try {
            spins = operation == 17 ? spins + 1 : 0;
            calls++;
            ending.remove(Thread.currentThread());
            Answer answer = dispatch(operation, a, payload);
            pump();
            return answer;
        } catch (IllegalArgumentException | IllegalStateException e) {
            System.err.println("operation " + operation + ": " + e);
            return Answer.error(Answer.EINVAL);
        }
    }

    private Answer dispatch(int operation, long[] a, byte[] payload) {
        switch (operation) {
            case 14:
                inject(payload);
                return Answer.of(0);
            case 15:
                return receive();
            case 16:
                letOthersEnd();
                advanceTo(nowNanos + a[0] * MICRO);
                return Answer.of(0);
            case 17:
                if (spins > SPINS) {
                    advanceTo(nowNanos + SPIN_NANOS);
                }
                return Answer.of(nowNanos / MICRO);
            case 1:
                sockets.put(nextFd, new ScriptSocket((int) a[0]));
                return Answer.of(nextFd++);
            case 13:
                return poll(payload, (int) a[0]);
            case 18, 19, 20:
                return Answer.error(Answer.EOPNOTSUPP);
            default:
                ScriptSocket socket = sockets.get((int) a[0]);
                return socket == null ? Answer.error(Answer.EBADF) : onSocket(operation, socket, a, payload);
        }
    }

    private Answer onSocket(int operation, ScriptSocket s, long[] a, byte[] payload) {
        return switch (operation) {
            case 2 -> bind(s, payload, (int) a[1]);
            case 3 -> listen(s, (int) a[1]);
            case 4 -> accept(s);
            case 5 -> connect(s, payload, (int) a[1]);
            case 6 -> read(s, (int) a[1], (int) a[2]);
            case 7 -> write(s, (int) a[2], (int) a[3], payload, (int) a[1]);
            case 8 -> fcntl(s, (int) a[1], (int) a[2]);
            case 9 -> close((int) a[0], s);
            case 10 -> shutdown(s, (int) a[1]);
            case 11 -> SocketOptions.get(s, (int) a[1], (int) a[2]);
            case 12 -> SocketOptions.set(s, (int) a[1], (int) a[2], payload);
            case 21 -> ioctl(s, (int) a[1]);
            default -> Answer.error(Answer.EOPNOTSUPP);
        };
    }

    private static Answer ioctl(ScriptSocket s, int command) {
        return switch (command) {
            case 0x541B -> Answer.of(s.unread);
            case 0x5411 -> Answer.of(s.connection == null ? 0 : s.connection.queuedBytes());
            case 0x894B -> Answer.of(s.connection == null ? 0 : s.connection.unsentBytes());
            default -> Answer.error(Answer.EOPNOTSUPP);
        };
    }

    private static Answer fcntl(ScriptSocket s, int command, int argument) {
        final int get = 3;
        final int set = 4;
        if (command == set) {
            s.blocking = (argument & O_NONBLOCK) == 0;
            return Answer.of(0);
        }
        return command == get ? Answer.of(O_RDWR | (s.blocking ? 0 : O_NONBLOCK)) : Answer.error(Answer.EINVAL);
    }

    private Answer bind(ScriptSocket s, byte[] address, int port) {
        ByteBuffer bytes = ByteBuffer.wrap(address);
        s.localHigh = bytes.getLong();
        s.localLow = bytes.getLong();
        s.localPort = port;
        return Answer.of(0);
    }

    private Answer listen(ScriptSocket s, int backlog) {
        boolean any = s.localLow == 0 || s.localLow == MAPPED;
        // A listener of Linux holds one connection more than its backlog.
        s.listener = engine(s.receiveBufferBytes).listen(any ? 0 : s.localHigh, any ? 0 : s.localLow, s.localPort, backlog + 1, s);
        boolean always = (number("tcp_fastopen", 1) & 0x400) != 0;
        if (s.fastOpenBacklog > 0 || always) {
            s.listener.maxFastOpens(Math.max(1, s.fastOpenBacklog));
        }
        if (s.maxSegment > 0) {
            s.listener.maxSegmentBytes(s.maxSegment);
        }
        return Answer.of(0);
    }

    private Answer accept(ScriptSocket s) {
        if (s.listener == null) {
            return Answer.error(Answer.EINVAL);
        }
        return await(() -> {
            ScriptSocket next = s.pending.poll();
            if (next != null) {
                sockets.put(nextFd, next);
                TcpConnection c = next.connection;
                ByteBuffer address = ByteBuffer.allocate(18).putLong(next.remoteHigh).putLong(next.remoteLow)
                        .putShort((short) next.remotePort);
                return Answer.of(nextFd++, address.array());
            }
            return s.blocking ? null : Answer.error(Answer.EAGAIN);
        }, Long.MAX_VALUE, null);
    }

    private Answer connect(ScriptSocket s, byte[] address, int port) {
        if (s.connected || s.fastOpenPending) {
            return Answer.error(Answer.EISCONN);
        }
        if (s.closed != null) {
            return SocketOptions.takeError(s);
        }
        if (s.connecting) {
            return Answer.error(Answer.EALREADY);
        }
        open(s, address, port);
        if (s.fastOpenConnect && s.connection.enableFastOpen()) {
            s.fastOpenPending = true;
            return Answer.of(0);
        }
        pump();
        if (!s.blocking) {
            return Answer.error(Answer.EINPROGRESS);
        }
        return await(() -> s.connected ? Answer.of(0) : s.closed != null ? SocketOptions.takeError(s) : null,
                Long.MAX_VALUE, null);
    }

    private void open(ScriptSocket s, byte[] address, int port) {
        ByteBuffer bytes = ByteBuffer.wrap(address);
        s.remoteHigh = bytes.getLong();
        s.remoteLow = bytes.getLong();
        s.remotePort = port;
        if (s.localLow == 0 || s.localLow == MAPPED) {
            boolean mapped = s.remoteHigh == 0 && s.remoteLow >>> 32 == 0xffff;
            s.localHigh = mapped ? 0 : OURS_IPV6_HIGH;
            s.localLow = mapped ? OURS_IPV4 : 1;
        }
        if (s.localPort == 0) {
            s.localPort = nextPort++;
        }
        s.connecting = true;
        s.attach(engine(s.receiveBufferBytes).connect(nowNanos, s.localHigh, s.localLow, s.localPort, s.remoteHigh, s.remoteLow, port, null, 0, s));
    }

    private Answer read(ScriptSocket s, int bytes, int flags) {
        if ((flags & MSG_ERRQUEUE) != 0) {
            return Answer.error(Answer.EAGAIN);
        }
        if (s.listener != null || s.connection == null) {
            return Answer.error(Answer.ENOTCONN);
        }
        boolean waits = s.blocking && (flags & MSG_DONTWAIT) == 0;
        return await(() -> {
            if (s.unread > 0) {
                int read = Math.min(bytes, s.unread);
                if ((flags & MSG_PEEK) == 0) {
                    s.unread -= read;
                    s.connection.reportRead(read);
                }
                return Answer.of(read);
            }
            if (s.error != 0) {
                return SocketOptions.takeError(s);
            }
            if (s.peerFinished || s.inputShut || s.closed != null) {
                return Answer.of(0);
            }
            return waits ? null : Answer.error(Answer.EAGAIN);
        }, Long.MAX_VALUE, null);
    }

    private Answer write(ScriptSocket s, int bytes, int flags, byte[] address, int port) {
        if ((flags & MSG_FASTOPEN) != 0 && s.connection == null && address.length > 0) {
            open(s, address, port);
            boolean early = s.connection.enableFastOpen();
            if (early) {
                s.connection.send(Unpooled.buffer(Math.max(1, bytes)).writeZero(bytes));
                s.connection.push();
                s.fastOpenPending = true;
                return Answer.of(bytes);
            }
            if (!s.blocking) {
                return Answer.error(Answer.EINPROGRESS);
            }
            pump();
        }
        if (s.connection == null || s.listener != null) {
            return Answer.error(Answer.EPIPE);
        }
        boolean waits = s.blocking && (flags & MSG_DONTWAIT) == 0;
        int[] left = {bytes};
        return await(() -> {
            if (s.error != 0) {
                return SocketOptions.takeError(s);
            }
            if (s.outputShut || s.closed != null) {
                return Answer.error(Answer.EPIPE);
            }
            if (s.connecting && !s.connected && !s.fastOpenPending) {
                return waits ? null : Answer.error(Answer.EAGAIN);
            }
            int now = Math.min(left[0], Math.max(0, s.sendRoom()));
            if (now > 0) {
                s.connection.send(Unpooled.buffer(now).writeZero(now));
                if ((flags & MSG_MORE) == 0) {
                    s.connection.push();
                }
                left[0] -= now;
                pump();
            }
            if (left[0] == 0 || !waits) {
                return left[0] == bytes && bytes > 0 ? Answer.error(Answer.EAGAIN) : Answer.of(bytes - left[0]);
            }
            return null;
        }, Long.MAX_VALUE, null);
    }

    private Answer close(int fd, ScriptSocket s) {
        sockets.remove(fd);
        if (s.listener != null) {
            s.listener.close();
            s.pending.forEach(child -> child.connection.abort());
        } else if (s.connection != null && s.closed == null) {
            if (s.resetOnClose) {
                s.connection.abort();
            } else {
                s.connection.close();
            }
        }
        return Answer.of(0);
    }

    private static Answer shutdown(ScriptSocket s, int how) {
        if (s.connection == null) {
            return Answer.error(Answer.ENOTCONN);
        }
        if (s.closed != null) {
            return Answer.error(Answer.ENOTCONN);
        }
        s.inputShut |= how != 1;
        if (how != 0) {
            s.outputShut = true;
            s.connection.shutdownOutput();
        }
        return Answer.of(0);
    }

    // ---- poll ----

    private static int ready(ScriptSocket s) {
        if (s == null) {
            return 0x20;
        }
        if (s.listener != null) {
            return s.pending.isEmpty() ? 0 : POLLIN | 0x40;
        }
        if (s.connection == null) {
            return POLLOUT | POLLHUP;
        }
        int ready = s.unread > 0 || s.peerFinished || s.closed != null || s.inputShut ? POLLIN | 0x40 : 0;
        ready |= s.peerFinished || s.inputShut || s.closed != null ? POLLRDHUP : 0;
        ready |= s.error != 0 ? POLLERR : 0;
        ready |= s.closed != null || (s.peerFinished || s.inputShut) && s.outputShut ? POLLHUP : 0;
        boolean open = s.connected || s.fastOpenPending;
        return ready | (open && s.sendRoom() * 3L >= s.sendBufferBytes || s.closed != null || s.outputShut ? POLLOUT | 0x100 : 0);
    }

    private Answer poll(byte[] payload, int timeoutMillis) {
        ByteBuffer fds = ByteBuffer.wrap(payload).order(ByteOrder.nativeOrder());
        long until = timeoutMillis < 0 ? Long.MAX_VALUE : nowNanos + timeoutMillis * 1_000_000L;
        return await(() -> {
            int count = 0;
            for (int at = 0; at < payload.length; at += POLL_BYTES) {
                int wanted = fds.getShort(at + 4) | POLLERR | POLLHUP | 0x20;
                int now = ready(sockets.get(fds.getInt(at))) & wanted;
                fds.putShort(at + 6, (short) now);
                count += now == 0 ? 0 : 1;
            }
            return count == 0 ? null : Answer.of(count, payload);
        }, until, Answer.of(0, payload));
    }

    // ---- the wire ----

    private Answer receive() {
        while (wire.isEmpty()) {
            try {
                // A call of another thread may be on its way.
                wait(50);
            } catch (InterruptedException e) {
                return Answer.error(Answer.EINTR);
            }
            if (!wire.isEmpty()) {
                break;
            }
            if (nextDeadline() > nowNanos + LIMIT_NANOS) {
                return Answer.of(-1);
            }
            advanceTo(nextDeadline());
        }
        Sent next = wire.poll();
        return Answer.of(next.nanos() / MICRO, next.packet());
    }

    private void inject(byte[] packet) {
        boolean ipv4 = packet[0] >> 4 == 4;
        int protocol = packet[ipv4 ? 9 : 6] & 0xff;
        int ipBytes = ipv4 ? (packet[0] & 15) * 4 : 40;
        if (protocol != TCP_PROTOCOL) {
            icmp(packet, ipv4, ipBytes);
            return;
        }
        if (!codec.decode(packet, in)) {
            return;
        }
        int headerBytes = ipBytes + (packet[ipBytes + 12] >> 4 & 15) * 4;
        ByteBuf payload = Unpooled.copiedBuffer(packet, headerBytes, packet.length - headerBytes);
        in.payload(payload, payload.readerIndex(), payload.readableBytes());
        engine(0).onSegment(in, nowNanos);
        in.detachPayload();
        payload.release();
    }

    private void icmp(byte[] packet, boolean ipv4, int ipBytes) {
        int type = packet[ipBytes];
        int code = packet[ipBytes + 1];
        IcmpErrorKind kind = ipv4 ? icmpKind(type, code) : icmpv6Kind(type, code);
        if (kind == null) {
            return;
        }
        ByteBuffer bytes = ByteBuffer.wrap(packet);
        int mtu = ipv4 ? bytes.getShort(ipBytes + 6) & 0xffff : bytes.getInt(ipBytes + 4);
        int quoted = ipBytes + 8;
        int tcp = quoted + (ipv4 ? (packet[quoted] & 15) * 4 : 40);
        long fromHigh = ipv4 ? 0 : bytes.getLong(quoted + 8);
        long fromLow = ipv4 ? MAPPED | bytes.getInt(quoted + 12) & 0xffff_ffffL : bytes.getLong(quoted + 16);
        long toHigh = ipv4 ? 0 : bytes.getLong(quoted + 24);
        long toLow = ipv4 ? MAPPED | bytes.getInt(quoted + 16) & 0xffff_ffffL : bytes.getLong(quoted + 32);
        engine(0).onIcmp(kind, fromHigh, fromLow, bytes.getShort(tcp) & 0xffff, toHigh, toLow,
                bytes.getShort(tcp + 2) & 0xffff, bytes.getInt(tcp + 4), mtu, nowNanos);
    }

    private static IcmpErrorKind icmpKind(int type, int code) {
        if (type == 11) {
            return IcmpErrorKind.TIME_EXCEEDED;
        }
        if (type != 3) {
            return null;
        }
        return switch (code) {
            case 2 -> IcmpErrorKind.PROTOCOL_UNREACHABLE;
            case 3 -> IcmpErrorKind.PORT_UNREACHABLE;
            case 4 -> IcmpErrorKind.PACKET_TOO_BIG;
            case 9, 10, 13 -> IcmpErrorKind.PROHIBITED;
            default -> IcmpErrorKind.HOST_UNREACHABLE;
        };
    }

    private static IcmpErrorKind icmpv6Kind(int type, int code) {
        if (type == 1) {
            return code == 4 ? IcmpErrorKind.PORT_UNREACHABLE : IcmpErrorKind.HOST_UNREACHABLE;
        }
        return type == 2 ? IcmpErrorKind.PACKET_TOO_BIG : null;
    }

    // ---- events of the core ----

    @Override
    public void connected(TcpConnection connection) {
        ScriptSocket s = (ScriptSocket) connection.attachment();
        s.connected = true;
        s.connecting = false;
    }

    @Override
    public void accepted(TcpListener listener, TcpConnection connection) {
        ScriptSocket parent = (ScriptSocket) listener.attachment();
        ScriptSocket child = new ScriptSocket(parent.domain);
        child.sendBufferBytes = parent.sendBufferBytes;
        child.maxSegment = parent.maxSegment;
        child.notSentLowWater = parent.notSentLowWater;
        child.connected = true;
        child.options.addAll(parent.options);
        child.remoteHigh = connection.remoteHigh();
        child.remoteLow = connection.remoteLow();
        child.remotePort = connection.remotePort();
        child.attach(connection);
        parent.pending.add(child);
    }

    @Override
    public void data(TcpConnection connection, ByteBuf buffer, int index, int length) {
        ScriptSocket s = (ScriptSocket) connection.attachment();
        if (s.inputShut) {
            connection.reportRead(length);
            return;
        }
        connection.reportPieceMerged();
        s.unread += length;
    }

    @Override
    public void peerFinished(TcpConnection connection) {
        ((ScriptSocket) connection.attachment()).peerFinished = true;
    }

    @Override
    public void acked(TcpConnection connection, int bytes) {
        // A call that waits for room looks again after each event.
    }

    @Override
    public void closed(TcpConnection connection, CloseReason reason) {
        ScriptSocket s = (ScriptSocket) connection.attachment();
        s.closed = reason;
        s.connecting = false;
        s.error = switch (reason) {
            case RESET_BY_PEER -> s.peerFinished ? Answer.EPIPE : Answer.ECONNRESET;
            case REFUSED -> Answer.ECONNREFUSED;
            case TIMED_OUT -> Answer.ETIMEDOUT;
            case UNREACHABLE -> Answer.EHOSTUNREACH;
            default -> 0;
        };
    }
}
