// SPDX-License-Identifier: Apache-2.0

import io.rdmaraw.tcp.TcpConnectionInfo;
import io.rdmaraw.tcp.TcpState;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** getsockopt() and setsockopt() of a {@link ScriptSocket}, with the numbers and structures of Linux. */
final class SocketOptions {
    private static final int SOL_IP = 0;
    private static final int SOL_SOCKET = 1;
    private static final int SOL_TCP = 6;
    private static final int INFO_BYTES = 400;
    private static final long MILLI = 1_000_000;
    private static final long MICRO = 1_000;

    private SocketOptions() {
    }

    /** Reports the socket's error and forgets it. */
    static Answer takeError(ScriptSocket s) {
        int error = s.error;
        s.error = 0;
        return error == 0 ? Answer.error(Answer.ECONNREFUSED) : Answer.error(error);
    }

    static Answer get(ScriptSocket s, int level, int name) {
        if (level == SOL_SOCKET) {
            return switch (name) {
                case 4 -> {
                    int error = s.error;
                    s.error = 0;
                    yield number(error);
                }
                case 7 -> number(s.sendBufferBytes);
                case 8 -> number(s.receiveBufferBytes * 2);
                // SO_MEMINFO: packetdrill asks for it, and no script looks at it.
                case 55 -> Answer.of(0, new byte[36]);
                default -> Answer.error(Answer.ENOPROTOOPT);
            };
        }
        if (level == SOL_TCP) {
            return switch (name) {
                case 2 -> number(s.connection == null ? s.maxSegment == 0 ? 536 : s.maxSegment : s.connection.segmentBytes());
                case 25 -> number(s.notSentLowWater == 0 ? -1 : s.notSentLowWater);
                // TCP_CC_INFO: nothing, as of CUBIC on Linux.
                case 26 -> Answer.of(0);
                case 11 -> s.connection == null ? Answer.error(Answer.EINVAL) : Answer.of(0, info(s));
                default -> Answer.error(Answer.ENOPROTOOPT);
            };
        }
        return Answer.error(Answer.ENOPROTOOPT);
    }

    private static Answer number(int value) {
        return Answer.of(0, ByteBuffer.allocate(4).order(ByteOrder.nativeOrder()).putInt(value).array());
    }

    static Answer set(ScriptSocket s, int level, int name, byte[] payload) {
        ByteBuffer bytes = ByteBuffer.wrap(payload).order(ByteOrder.nativeOrder());
        int value = payload.length >= 4 ? bytes.getInt(0) : 0;
        return switch (level) {
            case SOL_SOCKET -> setSocket(s, name, value, bytes);
            case SOL_TCP -> setTcp(s, name, value);
            case SOL_IP -> setIp(s, name, value);
            default -> Answer.error(Answer.ENOPROTOOPT);
        };
    }

    private static Answer setSocket(ScriptSocket s, int name, int value, ByteBuffer bytes) {
        switch (name) {
            case 2, 15 -> {
                // SO_REUSEADDR and SO_REUSEPORT: a script has its ports for itself.
            }
            case 7 -> s.sendBufferBytes = Math.max(4608, value * 2);
            case 8 -> {
                // Linux doubles the value and offers half of it.
                s.receiveBufferBytes = Math.max(2048, value);
                s.set(c -> c.receiveBufferBytes(Math.max(2048, value)));
            }
            case 9 -> s.set(c -> c.keepAlive(value != 0));
            case 13 -> s.resetOnClose = value != 0 && bytes.getInt(4) == 0;
            case 36 -> s.set(c -> c.soMark(value));
            default -> {
                return Answer.error(Answer.ENOPROTOOPT);
            }
        }
        return Answer.of(0);
    }

    private static Answer setTcp(ScriptSocket s, int name, int value) {
        switch (name) {
            case 1 -> s.set(c -> c.noDelay(value != 0));
            case 2 -> {
                s.maxSegment = value;
                if (s.listener != null) {
                    s.listener.maxSegmentBytes(value);
                }
                s.set(c -> c.maxSegmentBytes(value));
            }
            case 3 -> s.set(c -> c.cork(value != 0));
            case 4 -> s.set(c -> c.keepAliveIdleMillis(value * 1000));
            case 5 -> s.set(c -> c.keepAliveIntervalMillis(value * 1000));
            case 6 -> s.set(c -> c.keepAliveProbes(value));
            case 7 -> s.set(c -> c.synRetries(value));
            case 8 -> s.set(c -> c.finWait2Millis(value * 1000));
            case 18 -> s.set(c -> c.userTimeoutMillis(value));
            case 12 -> s.set(c -> c.quickAck(value != 0));
            case 23 -> s.fastOpenBacklog = value;
            case 25 -> {
                s.notSentLowWater = Math.max(0, value);
                s.set(c -> c.notSentLowWaterBytes(Math.max(0, value)));
            }
            case 30 -> s.fastOpenConnect = value != 0;
            default -> {
                return Answer.error(Answer.ENOPROTOOPT);
            }
        }
        return Answer.of(0);
    }

    private static Answer setIp(ScriptSocket s, int name, int value) {
        if (name == 1) {
            s.set(c -> c.dscp(value >> 2 & 0x3f));
            return Answer.of(0);
        }
        // IP_MTU_DISCOVER and IP_FREEBIND: the core always discovers the MTU, and binds to any address.
        return name == 10 || name == 15 ? Answer.of(0) : Answer.error(Answer.ENOPROTOOPT);
    }

    private static int state(TcpState state) {
        return switch (state) {
            case ESTABLISHED -> 1;
            case SYN_SENT -> 2;
            case SYN_RECEIVED -> 3;
            case FIN_WAIT_1 -> 4;
            case FIN_WAIT_2 -> 5;
            case TIME_WAIT -> 6;
            case CLOSED -> 7;
            case CLOSE_WAIT -> 8;
            case LAST_ACK -> 9;
            case CLOSING -> 11;
        };
    }

    private static int segments(int bytes, int segment) {
        return (bytes + segment - 1) / segment;
    }

    /** The fields of struct tcp_info that the core has. Its sizes in bytes become counts of segments. */
    private static byte[] info(ScriptSocket s) {
        TcpConnectionInfo info = s.connection.info();
        int mss = Math.max(1, info.segmentBytes());
        ByteBuffer b = ByteBuffer.allocate(INFO_BYTES).order(ByteOrder.nativeOrder());
        b.put(0, (byte) state(info.state()));
        b.put(1, (byte) (info.unansweredTimeouts() > 0 ? 4 : info.recovering() ? 3 : info.sackedBytes() > 0 ? 1 : 0));
        b.put(2, (byte) info.unansweredTimeouts());
        b.put(4, (byte) info.backoff());
        b.put(5, (byte) ((info.timestamps() ? 1 : 0) | (info.sack() ? 2 : 0)
                | (info.receiveWindowShift() > 0 ? 4 : 0) | (info.ecn() ? 8 : 0)));
        b.put(6, (byte) (info.sendWindowShift() | info.receiveWindowShift() << 4));
        b.putInt(8, (int) (info.retransmissionTimeoutNanos() / MICRO));
        b.putInt(16, info.segmentBytes());
        b.putInt(20, info.peerSegmentBytes());
        b.putInt(24, segments(info.unacknowledgedBytes(), mss));
        b.putInt(28, segments(info.sackedBytes(), mss));
        b.putInt(32, segments(info.lostBytes(), mss));
        b.putInt(44, (int) (info.sinceLastSentNanos() / MILLI));
        b.putInt(52, (int) (info.sinceLastReceivedNanos() / MILLI));
        b.putInt(56, (int) (info.sinceLastReceivedNanos() / MILLI));
        b.putInt(60, info.pathMtuBytes());
        b.putInt(68, (int) (info.smoothedRttNanos() / MICRO));
        b.putInt(72, (int) (info.rttVariationNanos() / MICRO));
        boolean unbounded = info.slowStartThresholdBytes() > 1 << 29;
        b.putInt(76, unbounded ? Integer.MAX_VALUE : info.slowStartThresholdBytes() / mss);
        b.putInt(80, info.congestionWindowBytes() / mss);
        int advertised = info.pathMtuBytes() - 40;
        b.putInt(84, s.maxSegment > 0 ? Math.min(s.maxSegment, advertised) : advertised);
        b.putInt(88, 3);
        b.putInt(100, info.retransmittedSegments());
        b.putLong(104, info.pacingRate());
        b.putLong(120, info.bytesAcked());
        b.putLong(128, info.bytesReceived());
        b.putInt(136, info.segmentsOut());
        b.putInt(140, info.segmentsIn());
        b.putInt(144, info.unsentBytes());
        b.putInt(148, (int) (info.minimumRttNanos() / MICRO));
        b.putLong(160, info.deliveryRate());
        b.putLong(168, info.busyNanos() / MICRO);
        b.putLong(176, info.windowLimitedNanos() / MICRO);
        b.putLong(184, info.sendBufferLimitedNanos() / MICRO);
        b.putInt(192, segments((int) info.deliveredBytes(), mss));
        b.putInt(196, segments((int) info.deliveredMarkedBytes(), mss));
        b.putLong(200, info.bytesSent());
        b.putLong(208, info.retransmittedBytes());
        b.putInt(216, info.duplicatesReported());
        b.putInt(220, info.reorderings());
        b.putInt(228, info.sendWindowBytes());
        b.putInt(232, info.receiveWindowBytes());
        b.putInt(260, (int) info.deliveredMarkedBytes());
        return b.array();
    }
}
