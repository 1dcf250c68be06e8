package io.rdmaraw.testsuite.hostmodel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.testsuite.net.WithTestNetwork;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Compares generated hosts with the sockets of the kernel. */
@WithTestNetwork
class HostModelTest {
    private static final int SEEDS = 100;

    @Test
    @Tag("slow")
    void generatedHostsAnswerAsTheKernelDoes() throws Exception {
        try (HostModel model = new HostModel(entry -> true)) {
            for (long seed = 1; seed <= SEEDS; seed++) {
                assertNull(model.run(seed));
            }
            assertTrue(model.probes() > 10 * SEEDS, () -> model.probes() + " packets are not enough");
        }
    }

    /** Policy rules decide about link-local peers too, on the link of the peer's scope. */
    @Test
    void policyRulesHoldForLinkLocalPeers() throws Exception {
        Step packets = new Step.Probes(List.of(
                new Probe(Probe.Kind.CONNECT, 0, "", "2001:db8:0::1", "fe80::2", 0),
                new Probe(Probe.Kind.CONNECT, 0, "", "", "fe80::2", 0),
                new Probe(Probe.Kind.SYN, 0, "fe80::2", "fe80::2", "fe80::1", 0),
                new Probe(Probe.Kind.SEND, 0, "", "", "fe80::3", 8)));
        for (String selector : List.of("from 2001:db8:0::1", "to fe80::/16", "from all")) {
            Scenario scenario = new Scenario(0, Flavor.XDP, List.of(
                    new Step.Change("-6 addr add fe80::1/64 dev up0 nodad"),
                    new Step.Change("-6 addr add 2001:db8:0::1/64 dev up0 nodad"),
                    new Step.Change("-6 rule add pref 100 " + selector + " lookup 100"),
                    new Step.Change("-6 route replace default via fe80::b dev up0 table 100"), packets));
            try (HostModel model = new HostModel(entry -> true)) {
                assertNull(model.failure(scenario));
            }
        }
    }

    /**
     * Plants a difference that depends on an earlier scenario, which leaves a policy rule behind. The rule leads the
     * twin to a route that our host does not have.
     */
    @Test
    void differenceThatDependsOnAnEarlierScenarioIsFound() throws Exception {
        Probe syn = new Probe(Probe.Kind.SYN, 0, "10.0.0.2", "198.51.100.7", "10.0.0.1", 0);
        Step address = new Step.Change("addr add 10.0.0.1/24 dev up0");
        Step packet = new Step.Probes(List.of(syn));
        Scenario earlier = new Scenario(1, Flavor.XDP,
                List.of(address, new Step.Change("rule add pref 200 from 10.0.0.1 lookup 200"), packet));
        Scenario scenario = new Scenario(2, Flavor.XDP,
                List.of(address, new Step.Change("route add default via 10.0.0.2 dev up0"), packet));
        try (HostModel model = new HostModel(entry -> true)) {
            model.tamperWithTwin("route replace blackhole default table 200");
            assertNull(model.failure(earlier));
            HostModel.Failure failure = model.failure(scenario);
            assertNotNull(failure);
            assertEquals(List.of(earlier), failure.earlier());
            assertTrue(failure.toString().startsWith("seed 2, after seeds 1 on the same hosts:"), failure::toString);
        }
        try (HostModel model = new HostModel(entry -> true)) {
            model.tamperWithTwin("route replace blackhole default table 200");
            assertNull(model.failure(scenario), "without the earlier scenario there is no difference");
        }
    }

    /**
     * Plants a permanent difference, a route that only the twin has, and checks that it is found and reduced to few
     * steps.
     */
    @Test
    void differenceIsFoundAndShrunk() throws Exception {
        Probe syn = new Probe(Probe.Kind.SYN, 0, "10.0.0.2", "198.51.100.7", "10.0.0.1", 0);
        Probe other = new Probe(Probe.Kind.DATAGRAM, 0, "10.0.0.2", "10.0.0.2", "10.0.0.1", 8);
        Scenario scenario = new Scenario(0, Flavor.XDP, List.of(new Step.Change("addr add 10.0.0.1/24 dev up0"),
                new Step.Change("addr add 10.0.0.9/24 dev up0"), new Step.Probes(List.of(other)),
                new Step.Change("route add default via 10.0.0.2 dev up0"), new Step.Probes(List.of(other, syn))));
        try (HostModel model = new HostModel(entry -> true)) {
            assertNull(model.failure(scenario));
            model.tamperWithTwin("route add blackhole 198.51.100.0/24");
            HostModel.Failure failure = model.failure(scenario);
            assertNotNull(failure);
            assertEquals(List.of("answered"), List.copyOf(failure.difference().facts()));
            assertEquals(List.of("addr add 10.0.0.1/24 dev up0", "route add default via 10.0.0.2 dev up0"),
                    failure.scenario().steps().stream().filter(Step.Change.class::isInstance)
                            .map(step -> ((Step.Change) step).command()).toList());
            assertEquals(new Step.Probes(List.of(syn)), failure.scenario().steps().getLast());
        }
    }
}
