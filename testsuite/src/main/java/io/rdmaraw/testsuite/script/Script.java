package io.rdmaraw.testsuite.script;

import java.util.ArrayList;
import java.util.List;

/**
 * An exact exchange between a TCP endpoint and its peer, written as a dialogue. The script plays the peer and the
 * endpoint's user. A {@link ScriptDriver} provides the endpoint: the core in virtual time, or the Linux kernel
 * behind a TUN device. If Linux fails a script, the script itself is probably wrong.
 *
 * <pre>
 * Script.named("passive open")
 *       .listen()
 *       .peer("S seq 0 win 65535 mss 1460 sackOK ts 100")
 *       .ours("S. seq 0 ack 1")
 *       .peer(". seq 1 ack 1 ts 101")
 *       .userSends(10)
 *       .ours("P. seq 1 ack 1 len 10");
 * </pre>
 *
 * <p>A packet consists of its flags in tcpdump's letters (S F R P . E W) and of named fields. Sequence and
 * acknowledgment numbers are relative to the initial sequence number of their side. In a packet of the peer,
 * {@code ts V} also echoes the endpoint's last timestamp.
 *
 * <p>A packet of the endpoint is compared in its flags, its length and the fields that are named. The P flag is
 * ignored. The ACK flag is ignored, too, if the flags end with {@code ?}. {@code open} requires a window other than 0.
 *
 * <p>Fields of the peer's packets only: {@code urg N} sets the urgent pointer, {@code opt HEX} adds raw options,
 * {@code from IP} and {@code to IP} use other addresses, and {@code badsum} makes the checksum wrong.
 */
public final class Script {
    /** One line of the dialogue. */
    record Step(Kind kind, String text, long number) {
        @Override
        public String toString() {
            return kind + (text.isEmpty() ? "" : " \"" + text + '"') + (number == 0 ? "" : " " + number);
        }
    }

    /** The kind of a line. */
    enum Kind { LISTEN, CONNECT, PEER, OURS, SILENCE, SEND, READ, DELIVERED, EOF, RESET, SHUTDOWN, CLOSE, ABORT, WAIT,
        KEEP_ALIVE, NEW_CONNECTION, NAGLE, ICMP, FILL }

    private static final int FULL_SEGMENT_BYTES = 1460;

    private final String name;
    private final List<Step> steps = new ArrayList<>();
    private final List<String> proves = new ArrayList<>();
    private String coreOnly = "";
    private boolean readsAtOnce = true;

    private Script(String name) {
        this.name = name;
    }

    /** Starts a script with this name. */
    public static Script named(String name) {
        return new Script(name);
    }

    private Script add(Kind kind, String text, long number) {
        steps.add(new Step(kind, text, number));
        return this;
    }

    /** Excludes the script from comparison with the kernel, for this reason. */
    public Script coreOnly(String why) {
        coreOnly = why;
        return this;
    }

    /** Declares the requirements of RFC 9293, appendix B, that this script verifies; see {@link Rfc9293}. */
    public Script proves(String... requirements) {
        proves.addAll(List.of(requirements));
        return this;
    }

    /** Lets the user read only at {@link #userReads}. */
    public Script userDoesNotRead() {
        readsAtOnce = false;
        return this;
    }

    /** Lets the user listen. */
    public Script listen() {
        return add(Kind.LISTEN, "", 0);
    }

    /** Lets the user open a connection to the peer. */
    public Script connect() {
        return add(Kind.CONNECT, "", 0);
    }

    /** Sends a packet from the peer. */
    public Script peer(String packet) {
        return add(Kind.PEER, packet, 0);
    }

    /** Expects this packet as the endpoint's next one. */
    public Script ours(String packet) {
        return add(Kind.OURS, packet, 0);
    }

    /** Expects this packet as the endpoint's next one, within this time. */
    public Script oursWithinMillis(long millis, String packet) {
        return add(Kind.OURS, packet, millis);
    }

    /** Expects {@code count} full segments of 1460 bytes without gaps. */
    public Script oursInARow(int firstSeq, int count) {
        for (int i = 0; i < count; i++) {
            ours(". seq " + (firstSeq + i * FULL_SEGMENT_BYTES) + " ack 1 len " + FULL_SEGMENT_BYTES);
        }
        return this;
    }

    /** Expects that the endpoint sends nothing for this time. */
    public Script silenceMillis(long millis) {
        return add(Kind.SILENCE, "", millis);
    }

    /** Lets time pass and ignores the endpoint's packets. */
    public Script waitMillis(long millis) {
        return add(Kind.WAIT, "", millis);
    }

    /**
     * Lets the peer send until the endpoint's window is closed. The user must not read. Afterwards, {@code seq 1}
     * is the first sequence number behind this data.
     */
    public Script peerFillsWindow() {
        return add(Kind.FILL, "", 0);
    }

    /** Lets the user send bytes. */
    public Script userSends(int bytes) {
        return add(Kind.SEND, "", bytes);
    }

    /** Lets the user read received bytes. */
    public Script userReads(int bytes) {
        return add(Kind.READ, "", bytes);
    }

    /** Expects that this number of bytes has been delivered to the user in total. */
    public Script delivered(int bytes) {
        return add(Kind.DELIVERED, "", bytes);
    }

    /** Expects that the user has seen the end of the peer's data. */
    public Script userSeesEnd() {
        return add(Kind.EOF, "", 0);
    }

    /** Expects that a reset has been reported to the user. */
    public Script userSeesReset() {
        return add(Kind.RESET, "", 0);
    }

    /** Lets the user shut down the sending direction. */
    public Script userShutsDown() {
        return add(Kind.SHUTDOWN, "", 0);
    }

    /** Lets the user enable keepalive probes after a second of silence. */
    public Script userWantsKeepAlive() {
        return add(Kind.KEEP_ALIVE, "", 0);
    }

    /** Lets the user enable Nagle's algorithm, which is off by default. */
    public Script userWantsNagle() {
        return add(Kind.NAGLE, "", 0);
    }

    /**
     * Sends an ICMP message about a segment of the endpoint: the name of an {@link IcmpMessage}, then
     * {@code seq N}, and {@code mtu N} for messages with an MTU.
     */
    public Script icmp(String message) {
        return add(Kind.ICMP, message, 0);
    }

    /** Lets the user close the connection. */
    public Script userCloses() {
        return add(Kind.CLOSE, "", 0);
    }

    /** Lets the user close the connection with SO_LINGER 0. */
    public Script userAborts() {
        return add(Kind.ABORT, "", 0);
    }

    /** Starts a new connection with new initial sequence numbers on the same ports. */
    public Script again() {
        return add(Kind.NEW_CONNECTION, "", 0);
    }

    /** Performs the passive handshake of most scripts: MSS 1460, no other options, window 65535. */
    public Script established() {
        return listen().peer("S seq 0 win 65535 mss 1460").ours("S. seq 0 ack 1 mss 1460")
                .peer(". seq 1 ack 1 win 65535");
    }

    /**
     * Performs the handshake of {@link #established} with an RTT of 30 ms. If ACKs arrive at once, Linux holds
     * segments back to send larger packets (tcp_tso_should_defer).
     */
    public Script establishedFarAway() {
        return listen().peer("S seq 0 win 65535 mss 1460").ours("S. seq 0 ack 1 mss 1460").waitMillis(30)
                .peer(". seq 1 ack 1 win 65535");
    }

    /**
     * Performs the handshake of {@link #established} with SACK and an RTT of 30 ms. The first tail loss probe is
     * sent after two RTTs, which leaves a script in real time enough time between its lines.
     */
    public Script establishedWithSack() {
        return listen().peer("S seq 0 win 65535 mss 1460 sackOK").ours("S. seq 0 ack 1 mss 1460 sackOK")
                .waitMillis(30).peer(". seq 1 ack 1 win 65535");
    }

    /** Performs the handshake of {@link #established} with timestamps. The peer's timestamps start at 1000. */
    public Script establishedWithTimestamps() {
        return listen().peer("S seq 0 win 65535 mss 1460 ts 1000").ours("S. seq 0 ack 1 mss 1460 ts 1000")
                .peer(". seq 1 ack 1 win 65535 ts 1001");
    }

    public String name() {
        return name;
    }

    List<Step> steps() {
        return steps;
    }

    /** Returns why the script cannot be compared with the kernel, or an empty string. */
    public String coreOnlyReason() {
        return coreOnly;
    }

    /** Returns the requirements of RFC 9293 that the script verifies. */
    public List<String> proves() {
        return List.copyOf(proves);
    }

    boolean readsAtOnce() {
        return readsAtOnce;
    }

    @Override
    public String toString() {
        return name;
    }
}
