package io.rdmaraw.microbench.server;

import io.rdmaraw.microbench.result.BenchOptions;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code rdma-raw bench dns}. */
@Command(name = "dns", mixinStandardHelpOptions = true, showDefaultValues = true,
        description = "As root, on a veth pair of its own: the DNS server of examples/ on AF_XDP, beside Netty's epoll,"
                + " io_uring and NIO, under dnsperf. perServerCpu counts"
                + " all that the core did which has the server to itself with what the kernel receives for it, soft"
                + " interrupts too; perMachineCpu all that any core did, the generator's work too.")
public final class DnsCommand extends ServerBenchCommand {
    @Option(names = "--polled", description = "ask by a client of ours on soft:xdp that never sleeps, and not by"
            + " dnsperf (dns.polled); .conns200 has 200 questions under way, .conns1, not with --quick, one")
    private boolean polled;

    @Override
    List<LoadGenerator> generators(BenchOptions common) {
        if (!polled) {
            return List.of(new Dnsperf());
        }
        return PolledLoad.of(PolledKind.DNS, common.quick() ? List.of(Dnsperf.OUTSTANDING)
                : List.of(Dnsperf.OUTSTANDING, 1));
    }
}
