package io.rdmaraw.microbench.manual;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import picocli.CommandLine;
import picocli.CommandLine.Help.Ansi;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;

/**
 * The manual page (section 1) of a picocli command, in the macros of man(7). It is derived from the same model as the
 * help text.
 */
final class ManPage {
    private final CommandSpec command;
    private final String words;
    private final String version;
    private final Roff page = new Roff();

    /** @param version version of the project, for the footer of the page */
    ManPage(CommandSpec command, String version) {
        this.command = command;
        this.version = version;
        words = command.qualifiedName();
    }

    /** Returns the name of the page: {@code rdma-raw-pktgen-tx}. */
    String name() {
        return words.replace(' ', '-');
    }

    String render() {
        page.title(name(), version).section("NAME").line(name() + " - " + summary()).section("SYNOPSIS");
        synopsis();
        List<String> description = paragraphs(command.usageMessage().description());
        if (!description.isEmpty()) {
            page.section("DESCRIPTION");
            paragraphed(description);
        }
        arguments("ARGUMENTS", command.positionalParameters());
        arguments("OPTIONS", command.options());
        subcommands();
        // The footers of the help become notes: exit codes, the syntax of a rule.
        List<String> foot = paragraphs(command.usageMessage().footer());
        if (!foot.isEmpty()) {
            page.section("NOTES");
            paragraphed(foot);
        }
        seeAlso();
        return page.toString();
    }

    /** Returns the first sentence of the description. */
    private String summary() {
        return summary(command);
    }

    private static String summary(CommandSpec of) {
        List<String> description = paragraphs(of.usageMessage().description());
        return description.isEmpty() ? of.name() : description.getFirst().replaceFirst("(?s)[.:] .*|[.:]$", "");
    }

    private void synopsis() {
        // picocli has wrapped the synopsis for a terminal. The line breaks are removed because man(1) wraps it again.
        String[] synopsis = new CommandLine.Help(command, CommandLine.Help.defaultColorScheme(Ansi.OFF)).synopsis(0)
                .strip().split("\\s+");
        int named = words.split(" ").length;
        page.raw(".B " + Roff.escaped(String.join(" ", Arrays.copyOf(synopsis, named))));
        if (synopsis.length > named) {
            page.line(String.join(" ", Arrays.copyOfRange(synopsis, named, synopsis.length)));
        }
    }

    private void arguments(String title, List<? extends ArgSpec> specs) {
        List<? extends ArgSpec> shown = specs.stream().filter(each -> !each.hidden()).toList();
        if (shown.isEmpty()) {
            return;
        }
        page.section(title);
        for (ArgSpec spec : shown) {
            page.raw(".TP").raw(tag(spec)).line(description(spec));
        }
    }

    private String tag(ArgSpec spec) {
        String value = spec.arity().max() == 0 ? "" : "\\fI" + Roff.escaped(spec.paramLabel()) + "\\fR";
        if (!(spec instanceof OptionSpec option)) {
            return value;
        }
        String names = Stream.of(option.names()).sorted((a, b) -> Boolean.compare(a.startsWith("--"),
                b.startsWith("--"))).map(name -> "\\fB" + Roff.escaped(name) + "\\fR")
                .collect(Collectors.joining(", "));
        return names + (value.isEmpty() ? "" : " " + value);
    }

    private String description(ArgSpec spec) {
        String told = String.join(" ", paragraphs(spec.description()));
        String value = spec instanceof OptionSpec && command.usageMessage().showDefaultValues()
                && spec.arity().max() > 0 ? spec.defaultValueString() : "null";
        return told + (List.of("null", "[]").contains(value) ? "" : "; default " + value);
    }

    private List<CommandSpec> visible() {
        return command.subcommands().values().stream().distinct().map(CommandLine::getCommandSpec)
                .filter(each -> !each.usageMessage().hidden()).toList();
    }

    private void subcommands() {
        List<CommandSpec> visible = visible();
        if (!visible.isEmpty()) {
            page.section("COMMANDS");
        }
        for (CommandSpec each : visible) {
            page.raw(".TP").raw(".B " + Roff.escaped(each.name())).line(summary(each) + '.');
        }
    }

    private void seeAlso() {
        List<String> pages = new ArrayList<>();
        if (command.parent() != null) {
            pages.add(command.parent().qualifiedName());
        }
        visible().forEach(each -> pages.add(each.qualifiedName()));
        if (!pages.isEmpty()) {
            page.section("SEE ALSO");
            page.line(pages.stream().map(page -> page.replace(' ', '-') + "(1)").collect(Collectors.joining(", ")));
        }
    }

    /**
     * Returns the paragraphs of a picocli text. Each line is a format string, in which {@code %n} separates paragraphs.
     */
    private static List<String> paragraphs(String[] lines) {
        return Stream.of(lines).flatMap(each -> String.format(each.replaceAll("%(?![n%])", "%%"))
                .lines()).map(String::strip).filter(each -> !each.isEmpty()).toList();
    }

    private void paragraphed(List<String> paragraphs) {
        for (int i = 0; i < paragraphs.size(); i++) {
            if (i > 0) {
                page.raw(".PP");
            }
            page.line(paragraphs.get(i));
        }
    }
}
