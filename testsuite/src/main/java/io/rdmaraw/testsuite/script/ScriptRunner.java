package io.rdmaraw.testsuite.script;

import io.rdmaraw.testsuite.sim.Packet;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;

/** Plays a {@link Script} against a {@link ScriptDriver} and reports the first difference. */
public final class ScriptRunner {
    private static final long PATIENCE_MILLIS = 8_000;
    private static final int PEER_ISS = 0xffff_fff0;
    private static final int NEW_CONNECTION_STEP = 1 << 20;
    private static final int FILLING_BYTES = 8_000;
    private static final int MAX_FILLINGS = 1_000;

    private final Script script;
    private final ScriptDriver driver;
    private final List<String> seen = new ArrayList<>();
    private int ourIss;
    private boolean ourIssKnown;
    private int peerIss = PEER_ISS;
    private int lastTsValue;
    private int lastAck;
    private int lastWindow;

    ScriptRunner(Script script, ScriptDriver driver) {
        this.script = script;
        this.driver = driver;
    }

    /**
     * Plays a script against a new endpoint on a new thread, because the kernel's driver moves its thread to
     * another network namespace.
     *
     * @throws AssertionError at the first line that does not hold
     */
    static void play(Script script, Supplier<ScriptDriver> drivers) {
        AtomicReference<Throwable> failure = new AtomicReference<>();
        Thread thread = Thread.ofPlatform().name(script.name()).start(() -> {
            try (ScriptDriver driver = drivers.get()) {
                new ScriptRunner(script, driver).run();
            } catch (Throwable e) {
                failure.set(e);
            }
        });
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
        if (failure.get() instanceof AssertionError error) {
            throw error;
        }
        if (failure.get() != null) {
            throw new IllegalStateException(script.name(), failure.get());
        }
    }

    /**
     * Plays the script.
     *
     * @throws AssertionError at the first line that does not hold
     */
    void run() {
        for (Script.Step step : script.steps()) {
            String complaint = play(step);
            if (complaint != null) {
                throw new AssertionError(script.name() + ", at " + step + ": " + complaint + "\n  "
                        + String.join("\n  ", seen));
            }
            seen.add(step.toString());
        }
    }

    private String play(Script.Step step) {
        switch (step.kind()) {
            case LISTEN -> driver.listen(script.readsAtOnce());
            case CONNECT -> driver.connect(script.readsAtOnce());
            case PEER -> inject(new PacketText(step.text()));
            case SEND -> driver.send((int) step.number());
            case READ -> driver.read((int) step.number());
            case SHUTDOWN -> driver.shutdownOutput();
            case KEEP_ALIVE -> driver.keepAlive();
            case NAGLE -> driver.nagle();
            case ICMP -> icmp(new PacketText(step.text()));
            case CLOSE -> driver.closeSocket();
            case ABORT -> driver.abort();
            case WAIT -> pass(step.number());
            case FILL -> {
                return fill();
            }
            case NEW_CONNECTION -> {
                peerIss += NEW_CONNECTION_STEP;
                ourIssKnown = false;
            }
            default -> {
                return check(step);
            }
        }
        return null;
    }

    private String check(Script.Step step) {
        return switch (step.kind()) {
            case OURS -> expect(new PacketText(step.text()), step.number() == 0 ? PATIENCE_MILLIS : step.number());
            case SILENCE -> {
                Packet packet = driver.await(step.number());
                yield packet == null ? null : "sent " + relative(packet);
            }
            case DELIVERED -> driver.delivered() == step.number() ? null : driver.delivered() + " bytes delivered";
            case EOF -> driver.sawEnd() ? null : "no end seen";
            case RESET -> driver.sawReset() ? null : "no reset seen";
            default -> throw new IllegalStateException(step.toString());
        };
    }

    private void pass(long millis) {
        for (Packet packet = driver.await(millis); packet != null; packet = driver.await(1)) {
            seen.add("(ours " + relative(packet) + ")");
        }
    }

    private void note(Packet packet) {
        lastTsValue = packet.timestamps ? packet.tsValue : lastTsValue;
        lastAck = packet.ack;
        lastWindow = packet.window;
    }

    private String fill() {
        for (int i = 0; lastWindow > 0 && i < MAX_FILLINGS; i++) {
            peerIss = lastAck - 1;
            inject(new PacketText(". seq 1 ack 1 len " + Math.min(lastWindow, FILLING_BYTES)));
            Packet packet = driver.await(PATIENCE_MILLIS);
            if (packet == null) {
                return "nothing was sent";
            }
            note(packet);
        }
        peerIss = lastAck - 1;
        return lastWindow == 0 ? null : "the window does not close";
    }

    private void icmp(PacketText text) {
        Packet quoted = new Packet().route(0, driver.ourAddress(), ScriptDriver.OUR_PORT, 0, driver.peerAddress(),
                ScriptDriver.PEER_PORT);
        quoted.flags = Packet.ACK;
        quoted.seq = ourIss + text.number("seq", 0);
        driver.icmp(IcmpMessage.named(text.word()), quoted, text.number("mtu", 0));
    }

    private void inject(PacketText text) {
        Packet packet = new Packet().route(0, text.address("from", driver.peerAddress()), ScriptDriver.PEER_PORT, 0,
                text.address("to", driver.ourAddress()), ScriptDriver.OUR_PORT);
        packet.flags = text.flags;
        packet.seq = peerIss + text.number("seq", 0);
        packet.ack = packet.has(Packet.ACK) ? ourIss + text.number("ack", 0) : 0;
        packet.window = text.number("win", packet.has(Packet.RST) ? 0 : 65535);
        packet.mss = text.number("mss", 0);
        packet.windowScale = text.number("ws", -1);
        packet.sackPermitted = text.has("sackOK");
        packet.ecn = text.number("ecn", 0);
        if (text.has("ts")) {
            packet.timestamps = true;
            packet.tsValue = text.number("ts", 0);
            packet.tsEcho = packet.has(Packet.ACK) ? lastTsValue : 0;
        }
        packet.sack = new int[2 * text.sack.size()];
        for (int i = 0; i < packet.sack.length; i++) {
            packet.sack[i] = ourIss + (int) text.sack.get(i / 2)[i % 2];
        }
        packet.payload = new byte[text.number("len", 0)];
        packet.urgentPointer = text.number("urg", 0);
        packet.rawOptions = text.options();
        byte[] bytes = packet.encode();
        if (text.has("badsum")) {
            bytes[bytes.length - 1] ^= 1;
        }
        driver.inject(bytes);
    }

    private String expect(PacketText text, long millis) {
        Packet packet = driver.await(millis);
        if (packet == null) {
            return "nothing was sent";
        }
        if (packet.has(Packet.SYN) && !ourIssKnown) {
            ourIss = packet.seq;
            ourIssKnown = true;
        }
        note(packet);
        String wrong = text.difference(packet, ourIssKnown ? ourIss : 0, peerIss);
        return wrong == null ? null : wrong + " differs: sent " + relative(packet);
    }

    private String relative(Packet packet) {
        Packet copy = Packet.decode(packet.encode());
        copy.seq -= ourIssKnown ? ourIss : 0;
        copy.ack -= packet.has(Packet.ACK) ? peerIss : 0;
        for (int i = 0; i < copy.sack.length; i++) {
            copy.sack[i] -= peerIss;
        }
        return copy.toString();
    }
}
