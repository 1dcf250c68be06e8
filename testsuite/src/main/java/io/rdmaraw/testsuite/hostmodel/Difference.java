package io.rdmaraw.testsuite.hostmodel;

import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.IntSupplier;
import java.util.stream.Collectors;

/**
 * A difference between the reactions of the two hosts.
 *
 * @param step           number of the step
 * @param probe          the packet
 * @param ours           the reaction of our host
 * @param twin           the reaction of the kernel's host
 * @param hasSameRoutes  whether our host knows the same routes as the kernel
 * @param changes        commands so far
 * @param twinLink       returns the link of the kernel's route to the peer; -1 if there is none
 */
record Difference(int step, Probe probe, Answer ours, Answer twin, boolean hasSameRoutes,
        List<String> changes, IntSupplier twinLink) {
    /**
     * Returns the facts that differ: "delivered", "sender", "answered", "link", "source", "next hop", "detail",
     * "error".
     */
    Set<String> facts() {
        Set<String> facts = new TreeSet<>();
        if ((ours.delivered() == null) != (twin.delivered() == null)) {
            facts.add("delivered");
        } else if (!Objects.equals(ours.delivered(), twin.delivered())) {
            facts.add("sender");
        }
        if (ours.isAnswered() != twin.isAnswered()) {
            facts.add("answered");
        } else if (!ours.replies().equals(twin.replies())) {
            compare(facts, "link", reply -> reply.nextHop().equals("any") ? "" : "" + reply.link());
            compare(facts, "source", Answer.Reply::source);
            compare(facts, "next hop", Answer.Reply::nextHop);
            compare(facts, "detail", Answer.Reply::detail);
        }
        if (!Objects.equals(ours.error(), twin.error())) {
            facts.add("error");
        }
        return facts;
    }

    private void compare(Set<String> facts, String fact, java.util.function.Function<Answer.Reply, String> property) {
        if (!properties(ours, property).equals(properties(twin, property))) {
            facts.add(fact);
        }
    }

    private static Set<String> properties(Answer answer, java.util.function.Function<Answer.Reply, String> property) {
        return answer.replies().stream().map(property).collect(Collectors.toCollection(TreeSet::new));
    }

    /** Returns whether a command so far contains a text. */
    boolean isAfter(String text) {
        return changes.stream().anyMatch(change -> change.contains(text));
    }

    boolean isNone() {
        return facts().isEmpty();
    }

    /** Returns the class of the difference, which shrinking must preserve. */
    String key() {
        return probe.kind() + (probe.isIpv6() ? "6" : "4") + List.copyOf(facts());
    }

    @Override
    public String toString() {
        return probe + "\n  ours:   " + ours + "\n  kernel: " + twin + "\n  differs in " + String.join(", ", facts())
                + (hasSameRoutes ? "" : ", and the routes that our host knows are not those of the kernel");
    }
}
