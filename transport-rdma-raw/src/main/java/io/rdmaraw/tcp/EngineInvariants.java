package io.rdmaraw.tcp;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Checks the invariants of an engine. They hold between any two calls, whatever the peers have sent. The most
 * important one: every connection has a deadline, data to send, or a user that holds it and can close it. Used in
 * tests and simulations only, because the cost grows with the number of connections.
 */
final class EngineInvariants {
    private final TcpEngine engine;
    private final Set<TcpConnection> queued = new HashSet<>();
    private final Map<TcpListener, Integer> countedHalfOpen = new IdentityHashMap<>();
    private int orphans;
    private long orphanBytes;
    private long outOfOrderBytes;
    private long unreadBytes;
    private final List<String> violations = new ArrayList<>();

    private EngineInvariants(TcpEngine engine) {
        this.engine = engine;
    }

    /** Returns a description of each violated invariant; empty if all hold. */
    static List<String> violations(TcpEngine engine, Iterable<TcpConnection> waitingForOutput) {
        EngineInvariants check = new EngineInvariants(engine);
        waitingForOutput.forEach(check.queued::add);
        for (TcpConnection c : engine.connections.snapshot()) {
            check.check(c);
        }
        check.checkListeners();
        check.checkOrphans();
        check.checkMemory();
        return check.violations;
    }

    private void check(TcpConnection c) {
        expect(c.state != TcpState.CLOSED && c.state != TcpState.TIME_WAIT, c, "is over and still in the table");
        expect(c.engine == engine, c, "is of another engine");
        expect(c.is(Tcb.OUTPUT_QUEUED) == queued.contains(c), c, "and the list of those that may send do not agree");
        if (c.listener != null) {
            checkHalfOpen(c);
        }
        unreadBytes += ReceiveMemory.chargedUnread(c);
        if (c.reassembly != null) {
            outOfOrderBytes += c.reassembly.chargedBytes();
            expect(c.reassembly.owner == c, c, "holds another's data out of order");
        }
        if (c.orphan != null) {
            orphans++;
            orphanBytes += c.queuedBytes();
        }
        expect(c.is(Tcb.CLOSE_CALLED) == (c.orphan != null), c, "and the list of the closed do not agree");
        if (!c.is(Tcb.OUTPUT_QUEUED)) {
            checkDeadline(c);
        }
    }

    private void checkHalfOpen(TcpConnection c) {
        expect(c.state == TcpState.SYN_RECEIVED, c, "counts as half-open");
        if (c.listener.engine == engine) {
            countedHalfOpen.merge(c.listener, 1, Integer::sum);
        } else {
            expect(c.is(Tcb.ACCEPTED_EARLY), c, "has come from another engine before its user had it");
            expect(c.listener.movedHalfOpenCount.get() > 0, c, "is half-open, which its listener does not know");
        }
    }

    /** Checks a connection that has nothing to send for now. */
    private void checkDeadline(TcpConnection c) {
        long deadline = ConnectionTimers.earliestDeadline(c);
        boolean paced = c.pacer != null && c.pacer.isWaiting();
        expect(!paced || c.pacer.heapIndex != Pacer.NOT_QUEUED, c, "waits for its pacer, which will not wake it");
        if (deadline == Tcb.NEVER && paced) {
            return;
        }
        if (deadline == Tcb.NEVER) {
            expect(isControlledByUser(c), c, "has neither a deadline nor a user who holds it");
            return;
        }
        expect(deadline != Tcb.FROM_NOW, c, "has a deadline that was not filled in");
        expect(c.wheelSlot >= 0 && c.wheelDeadlineNanos <= deadline, c, "has a deadline that the wheel does not know");
    }

    /** Returns whether nothing is owed to the peer and the user controls how long the connection lives. */
    private static boolean isControlledByUser(TcpConnection c) {
        boolean settled = c.state == TcpState.ESTABLISHED || c.state == TcpState.CLOSE_WAIT
                || c.state == TcpState.FIN_WAIT_2;
        return settled && c.sendState == null && !c.is(Tcb.CLOSE_CALLED);
    }

    private void checkListeners() {
        for (TcpListener listener : engine.listeners()) {
            int counted = countedHalfOpen.getOrDefault(listener, 0);
            if (listener.engineHalfOpenCount != counted) {
                violations.add("port " + listener.localPort + " counts " + listener.engineHalfOpenCount
                        + " half-open connections of " + counted);
            }
            if (listener.movedHalfOpenCount.get() < 0) {
                violations.add("port " + listener.localPort + " counts " + listener.movedHalfOpenCount
                        + " half-open connections with other engines");
            }
        }
        countedHalfOpen.forEach((listener, count) -> {
            if (count > listener.backlog) {
                violations.add("port " + listener.localPort + " has " + count
                        + " half-open connections with a backlog of "
                        + listener.backlog);
            }
        });
    }

    private void checkOrphans() {
        if (engine.orphans.count() != orphans || engine.orphans.queuedBytes() != orphanBytes) {
            violations.add(orphans + " closed connections hold " + orphanBytes + " bytes, counted are "
                    + engine.orphans.count() + " with " + engine.orphans.queuedBytes());
        }
        if (orphans > engine.config.limits.maxOrphans || orphanBytes > engine.config.limits.maxOrphanBytes) {
            violations.add(orphans + " closed connections with " + orphanBytes + " bytes pass the limits");
        }
    }

    private void checkMemory() {
        ReceiveMemory memory = engine.receiveMemory;
        if (memory.outOfOrderBytes() != outOfOrderBytes || memory.unreadBytes() != unreadBytes) {
            violations.add(outOfOrderBytes + " bytes are held out of order and " + unreadBytes
                    + " not read, counted are "
                    + memory.outOfOrderBytes() + " and " + memory.unreadBytes());
        }
        if (outOfOrderBytes > 0 && outOfOrderBytes > engine.config.limits.maxReceiveBytes) {
            violations.add(outOfOrderBytes + " bytes out of order pass the limit");
        }
    }

    private void expect(boolean holds, TcpConnection c, String complaint) {
        if (!holds) {
            violations.add(c + " " + complaint);
        }
    }
}
