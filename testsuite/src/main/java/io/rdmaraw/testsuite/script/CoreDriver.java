package io.rdmaraw.testsuite.script;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.rdmaraw.tcp.CloseReason;
import io.rdmaraw.tcp.TcpConfig;
import io.rdmaraw.tcp.TcpConnection;
import io.rdmaraw.tcp.TcpEngine;
import io.rdmaraw.tcp.TcpEvents;
import io.rdmaraw.tcp.TcpListener;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.testsuite.sim.Packet;
import io.rdmaraw.testsuite.sim.SegmentCodec;
import io.rdmaraw.testsuite.sim.SplitMix;

/** Plays scripts against the core in virtual time, which advances when the script waits. */
final class CoreDriver implements ScriptDriver, TcpEvents {
    private static final long MILLI = 1_000_000;
    private static final long OURS = 0xffff_0a4d_0001L;
    private static final long PEER = 0xffff_0a4d_0002L;
    private static final long SEED = 42;
    private static final int IPV4_BYTES = 20;

    private final TcpEngine engine;
    private final SegmentCodec codec = new SegmentCodec();
    private final Segment in = new Segment();
    private final Segment out = new Segment();
    private TcpConnection connection;
    private boolean readsAtOnce;
    private int delivered;
    private int unread;
    private boolean end;
    private boolean reset;
    private long nowNanos = 1_000 * MILLI;

    CoreDriver() {
        TcpConfig config = TcpConfig.builder().initialReceiveBufferBytes(65_535).ecn(TcpConfig.EcnMode.OFF)
                .keepAliveIdleNanos(1_000 * MILLI).keepAliveIntervalNanos(1_000 * MILLI).build();
        engine = new TcpEngine(config, this, new SplitMix(SEED)::nextLong, nowNanos);
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
        engine.listen(0, OURS, OUR_PORT, 16, null);
    }

    @Override
    public void connect(boolean reads) {
        readsAtOnce = reads;
        connection = engine.connect(nowNanos, 0, OURS, OUR_PORT, 0, PEER, PEER_PORT, null, 0, null);
    }

    @Override
    public void inject(byte[] bytes) {
        // Each packet takes a millisecond, as between two hosts of one network.
        passSilently(MILLI);
        if (!codec.decode(bytes, in)) {
            // The wire layer drops damaged packets and packets for other hosts before they reach TCP.
            return;
        }
        int headerBytes = IPV4_BYTES + (bytes[IPV4_BYTES + 12] >> 4 & 15) * 4;
        ByteBuf payload = Unpooled.wrappedBuffer(bytes, headerBytes, bytes.length - headerBytes);
        in.payload(payload, 0, payload.readableBytes());
        engine.onSegment(in, nowNanos);
        in.detachPayload();
        payload.release();
    }

    @Override
    public void icmp(IcmpMessage message, Packet quoted, int mtuBytes) {
        passSilently(MILLI);
        // A message that the core does not distinguish is dropped before it reaches the core.
        if (message.error() != null) {
            engine.onIcmp(message.error(), 0, quoted.sourceLow, quoted.sourcePort, 0, quoted.destinationLow,
                    quoted.destinationPort, quoted.seq, mtuBytes, nowNanos);
        }
    }

    private void passSilently(long nanos) {
        nowNanos += nanos;
        if (engine.nextDeadlineNanos() <= nowNanos) {
            engine.advance(nowNanos);
        }
    }

    @Override
    public Packet await(long timeoutMillis) {
        long limit = nowNanos + timeoutMillis * MILLI;
        while (true) {
            if (engine.pollSegment(nowNanos, out)) {
                Packet packet = Packet.decode(codec.encode(out));
                out.releasePayload();
                return packet;
            }
            long next = engine.nextDeadlineNanos();
            if (next > limit) {
                nowNanos = limit;
                return null;
            }
            nowNanos = Math.max(nowNanos, next);
            engine.advance(nowNanos);
        }
    }

    @Override
    public void send(int bytes) {
        connection.send(Unpooled.buffer(bytes).writeZero(bytes));
        connection.push();
    }

    @Override
    public void read(int bytes) {
        unread -= bytes;
        connection.reportRead(bytes);
    }

    @Override
    public int delivered() {
        return delivered;
    }

    @Override
    public boolean sawEnd() {
        return end;
    }

    @Override
    public boolean sawReset() {
        return reset;
    }

    @Override
    public void keepAlive() {
        connection.keepAlive(true);
    }

    @Override
    public void nagle() {
        connection.noDelay(false);
    }

    @Override
    public void shutdownOutput() {
        connection.shutdownOutput();
    }

    @Override
    public void closeSocket() {
        connection.close();
    }

    @Override
    public void abort() {
        connection.abort();
    }

    @Override
    public void close() {
        engine.shutdown();
        while (engine.pollSegment(nowNanos, out)) {
            out.releasePayload();
        }
    }

    @Override
    public void connected(TcpConnection opened) {
        connection = opened;
    }

    @Override
    public void accepted(TcpListener listener, TcpConnection opened) {
        connection = opened;
    }

    @Override
    public void data(TcpConnection from, ByteBuf buffer, int index, int length) {
        delivered += length;
        unread += length;
        if (readsAtOnce) {
            unread = 0;
            from.reportRead(length);
        }
    }

    @Override
    public void peerFinished(TcpConnection from) {
        end = true;
    }

    @Override
    public void acked(TcpConnection from, int bytes) {
        // The script checks the packets instead.
    }

    @Override
    public void closed(TcpConnection from, CloseReason reason) {
        reset |= reason == CloseReason.RESET_BY_PEER || reason == CloseReason.REFUSED;
    }
}
