package io.rdmaraw.testsuite.script;

import java.util.ArrayList;
import java.util.List;

/**
 * An exact exchange between one TCP endpoint and its peer, written as a dialogue. The script plays the peer and the
 * user of the endpoint; a {@link ScriptDriver} is the endpoint: our core in virtual time, or the Linux kernel behind a
 * TUN device. A script that Linux fails is suspect.
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
 * <p>A packet is its flags in tcpdump's letters (S F R P . E W), then what it carries. Sequence and acknowledgment
 * numbers count from the initial sequence number of either side. {@code ts V} in a peer's packet echoes the last
 * timestamp of the endpoint; a packet of ours is compared in what is named, and always in flags (P is ignored, and with
 * {@code ?} at the end so is the ACK flag) and length; {@code open} means that
 * its window is not 0. What only a peer sends: {@code urg N} the urgent pointer,
 * {@code opt HEX} options as they are, {@code from IP} and {@code to IP} other addresses, {@code badsum} a wrong
 * checksum.
 */
public final class Script {
    /** One line of the dialogue. */
    record Step(Kind kind, String text, long number) {
        @Override
        public String toString() {
            return kind + (text.isEmpty() ? "" : " \"" + text + '"') + (number == 0 ? "" : " " + number);
        }
    }

    /** What a line is. */
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

    /** Begins a script. */
    public static Script named(String name) {
        return new Script(name);
    }

    private Script add(Kind kind, String text, long number) {
        steps.add(new Step(kind, text, number));
        return this;
    }

    /** Says that the kernel can't be compared, and why. */
    public Script coreOnly(String why) {
        coreOnly = why;
        return this;
    }

    /** Names the requirements of RFC 9293, appendix B, that it shows to be met: see {@link Rfc9293}. */
    public Script proves(String... requirements) {
        proves.addAll(List.of(requirements));
        return this;
    }

    /** The user does not read until told to. */
    public Script userDoesNotRead() {
        readsAtOnce = false;
        return this;
    }

    /** The user listens. */
    public Script listen() {
        return add(Kind.LISTEN, "", 0);
    }

    /** The user opens a connection to the peer. */
    public Script connect() {
        return add(Kind.CONNECT, "", 0);
    }

    /** The peer sends a packet. */
    public Script peer(String packet) {
        return add(Kind.PEER, packet, 0);
    }

    /** The endpoint must send this packet next. */
    public Script ours(String packet) {
        return add(Kind.OURS, packet, 0);
    }

    /** The endpoint must send this packet next, within so long. */
    public Script oursWithinMillis(long millis, String packet) {
        return add(Kind.OURS, packet, millis);
    }

    /** The endpoint must send so many full segments of 1460 bytes, one behind the other. */
    public Script oursInARow(int firstSeq, int count) {
        for (int i = 0; i < count; i++) {
            ours(". seq " + (firstSeq + i * FULL_SEGMENT_BYTES) + " ack 1 len " + FULL_SEGMENT_BYTES);
        }
        return this;
    }

    /** The endpoint must send nothing for so long. */
    public Script silenceMillis(long millis) {
        return add(Kind.SILENCE, "", millis);
    }

    /** Time passes, whatever the endpoint does meanwhile. */
    public Script waitMillis(long millis) {
        return add(Kind.WAIT, "", millis);
    }

    /**
     * The peer sends until the endpoint's window is closed; the user must not read. What it has sent lies before
     * {@code seq 1} from then on.
     */
    public Script peerFillsWindow() {
        return add(Kind.FILL, "", 0);
    }

    /** The user sends bytes. */
    public Script userSends(int bytes) {
        return add(Kind.SEND, "", bytes);
    }

    /** The user reads bytes that have arrived. */
    public Script userReads(int bytes) {
        return add(Kind.READ, "", bytes);
    }

    /** So many bytes must have reached the user in all. */
    public Script delivered(int bytes) {
        return add(Kind.DELIVERED, "", bytes);
    }

    /** The user must have seen the end of the peer's data. */
    public Script userSeesEnd() {
        return add(Kind.EOF, "", 0);
    }

    /** The user must have been told of a reset. */
    public Script userSeesReset() {
        return add(Kind.RESET, "", 0);
    }

    /** The user ends the sending direction. */
    public Script userShutsDown() {
        return add(Kind.SHUTDOWN, "", 0);
    }

    /** The user asks for keepalive probes after a second of silence. */
    public Script userWantsKeepAlive() {
        return add(Kind.KEEP_ALIVE, "", 0);
    }

    /** The user lets Nagle's algorithm hold small segments back; without this they go at once. */
    public Script userWantsNagle() {
        return add(Kind.NAGLE, "", 0);
    }

    /**
     * A router's or the peer's message about a segment of the endpoint: the name of an {@link IcmpMessage}, then
     * {@code seq N}, and {@code mtu N} where there is one.
     */
    public Script icmp(String message) {
        return add(Kind.ICMP, message, 0);
    }

    /** The user closes. */
    public Script userCloses() {
        return add(Kind.CLOSE, "", 0);
    }

    /** The user closes with SO_LINGER 0. */
    public Script userAborts() {
        return add(Kind.ABORT, "", 0);
    }

    /** A new exchange with new initial sequence numbers follows on the same ports. */
    public Script again() {
        return add(Kind.NEW_CONNECTION, "", 0);
    }

    /** The passive handshake that most scripts begin with: MSS 1460, no other options, window 65535. */
    public Script established() {
        return listen().peer("S seq 0 win 65535 mss 1460").ours("S. seq 0 ack 1 mss 1460")
                .peer(". seq 1 ack 1 win 65535");
    }

    /**
     * As {@link #established} with a round trip of 30 ms. Where acknowledgements come at once, Linux keeps segments
     * back for larger packets (tcp_tso_should_defer).
     */
    public Script establishedFarAway() {
        return listen().peer("S seq 0 win 65535 mss 1460").ours("S. seq 0 ack 1 mss 1460").waitMillis(30)
                .peer(". seq 1 ack 1 win 65535");
    }

    /**
     * As {@link #established} with SACK, and with a round trip of 30 ms: what is sent behind it is not probed before
     * twice that time, which a script in real time has then between its lines.
     */
    public Script establishedWithSack() {
        return listen().peer("S seq 0 win 65535 mss 1460 sackOK").ours("S. seq 0 ack 1 mss 1460 sackOK")
                .waitMillis(30).peer(". seq 1 ack 1 win 65535");
    }

    /** As {@link #established} with timestamps; the peer's begin at 1000. */
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

    /** Returns why the kernel can't be compared, or an empty string. */
    public String coreOnlyReason() {
        return coreOnly;
    }

    /** Returns the requirements of RFC 9293 that it shows to be met. */
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
