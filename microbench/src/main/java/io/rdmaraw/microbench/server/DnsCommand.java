package io.rdmaraw.microbench.server;

import io.rdmaraw.examples.server.Tuning.Channels;
import io.rdmaraw.microbench.result.BenchOptions;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Implements {@code rdma-raw bench dns}. */
@Command(name = "dns", mixinStandardHelpOptions = true, showDefaultValues = true,
        description = "As root, on a veth pair of its own: the DNS server of examples/ on AF_XDP, beside Netty's epoll,"
                + " io_uring and NIO, under dnsperf, and at equal rates (dns.paced, as in bench http). perServerCpu"
                + " counts all work of the server's core, including what the kernel receives for the server in soft"
                + " interrupts; perMachineCpu counts the work of all cores, including the generator's.")
public final class DnsCommand extends ServerBenchCommand {
    @Mixin
    private PacedOptions paced;

    @Option(names = "--polled", description = "use only our own client on soft:xdp, which never sleeps, instead of"
            + " dnsperf (dns.polled); .conns200 has 200 outstanding queries, .conns1, not with --quick, has one")
    private boolean polled;

    @Override
    Channels channels() {
        return Channels.DATAGRAM;
    }

    @Override
    List<LoadGenerator> generators(BenchOptions common) {
        if (!polled) {
            List<LoadGenerator> generators = new ArrayList<>(List.of(new Dnsperf()));
            generators.addAll(paced.all(common, RequestKind.DNS, Dnsperf.OUTSTANDING));
            return generators;
        }
        return PolledLoad.of(RequestKind.DNS, common.quick() ? List.of(Dnsperf.OUTSTANDING)
                : List.of(Dnsperf.OUTSTANDING, 1));
    }
}
