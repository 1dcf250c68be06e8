import java.io.IOException;
import java.io.InputStream;
import java.lang.module.ModuleDescriptor;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.jar.Attributes;
import java.util.jar.JarFile;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import javax.xml.parsers.DocumentBuilderFactory;
import org.w3c.dom.Element;
import org.w3c.dom.Node;

/**
 * Checks a repository of staged artifacts: what Maven Central asks for, what OSGi and JPMS read, that natives are of the
 * processor that they are named after, and that another build of the same sources has given the same bytes. Prints the
 * files, then what is wrong; ends with 1 if anything is.
 */
final class CheckRelease {
    private static final String GROUP = "io.rdmaraw";
    private static final String MODULE = "netty-transport-rdma-raw";
    /** Debian 10, Ubuntu 20.04, RHEL 8. */
    private static final Version OLDEST_GLIBC = new Version(2, 28);
    private static final Pattern PURL = Pattern.compile("\"pkg:maven/([^/\"]+)/([^@\"]+)@([^?\"]+)");
    /** Netty's other projects have versions of their own. */
    private static final String NETTY_PROJECT = "netty-(?!tcnative|incubator).*";
    private static final Map<String, Integer> ELF_MACHINES = Map.of("linux-x86_64", 62, "linux-aarch_64", 183);

    private final Path staged;
    private final List<String> wrong = new ArrayList<>();
    private final Map<String, Element> poms = new TreeMap<>();
    private String version;

    private record Version(int major, int minor) implements Comparable<Version> {
        @Override
        public int compareTo(Version other) {
            return major != other.major ? Integer.compare(major, other.major) : Integer.compare(minor, other.minor);
        }

        @Override
        public String toString() {
            return major + "." + minor;
        }
    }

    private CheckRelease(Path staged) {
        this.staged = staged;
    }

    public static void main(String[] args) throws Exception {
        CheckRelease check = new CheckRelease(Path.of(args[0]));
        check.run(args.length > 1 ? Path.of(args[1]) : null);
        check.wrong.forEach(each -> System.out.println("WRONG " + each));
        System.out.println(check.wrong.isEmpty() ? "the bundle is complete" : check.wrong.size() + " things are wrong");
        System.exit(check.wrong.isEmpty() ? 0 : 1);
    }

    private void run(Path anotherOrNull) throws Exception {
        List<Path> files = files(staged);
        for (Path file : files) {
            if (file.toString().endsWith(".pom")) {
                Element pom = DocumentBuilderFactory.newInstance().newDocumentBuilder()
                        .parse(staged.resolve(file).toFile()).getDocumentElement();
                poms.put(text(pom, "artifactId"), pom);
                String its = text(pom, "version") != null ? text(pom, "version") : text(pom, "parent", "version");
                version = version == null ? its : version;
                expect(its.equals(version), file + " is of version " + its + ", others of " + version);
            }
        }
        expect(poms.containsKey(MODULE), "there is no " + MODULE);
        for (Map.Entry<String, Element> pom : poms.entrySet()) {
            checkMetadata(pom.getKey(), pom.getValue());
            checkArtifacts(pom.getKey(), pom.getValue());
        }
        checkBom();
        for (Path file : files) {
            checkSums(file);
            if (file.toString().endsWith(".jar")) {
                checkJar(file);
            }
            System.out.printf("%9d  %s%n", Files.size(staged.resolve(file)), file);
        }
        System.out.println(files.size() + " files, each with its MD5 and SHA-1; version " + version);
        if (anotherOrNull != null) {
            compare(files, anotherOrNull);
        }
    }

    /** Those that are uploaded, without their checksums. */
    private static List<Path> files(Path directory) throws IOException {
        try (Stream<Path> all = Files.walk(directory)) {
            return all.filter(Files::isRegularFile).map(directory::relativize)
                    .filter(file -> !file.toString().matches(".*\\.(md5|sha1|sha256|sha512)|.*maven-metadata.*"))
                    .sorted().toList();
        }
    }

    private void expect(boolean so, String otherwise) {
        if (!so) {
            wrong.add(otherwise);
        }
    }

    /** What Maven Central wants of each POM, in itself or in its parent. */
    private void checkMetadata(String artifact, Element pom) {
        Element parent = child(pom, "parent") == null ? null : poms.get(text(pom, "parent", "artifactId"));
        expect(child(pom, "parent") == null || parent != null, artifact + ": its parent is not in the bundle");
        for (String name : List.of("name", "description")) {
            expect(hasText(text(pom, name)), artifact + ".pom has no " + name + " of its own");
        }
        for (String path : List.of("url", "licenses/license/name", "licenses/license/url", "developers/developer/name",
                "scm/url", "scm/connection")) {
            String value = text(pom, path.split("/"));
            expect(hasText(value) || parent != null && hasText(text(parent, path.split("/"))),
                    artifact + ".pom has no " + path);
        }
        for (Element dependency : all(pom, "dependency")) {
            String of = text(dependency, "version");
            expect(of == null || !of.contains("SNAPSHOT"), artifact + ".pom wants a snapshot of "
                    + text(dependency, "artifactId"));
            expect(of == null || !of.matches(".*[\\[(,].*|LATEST|RELEASE"), artifact + ".pom wants any version of "
                    + text(dependency, "artifactId") + ": " + of);
            String classifier = text(dependency, "classifier") == null ? "" : text(dependency, "classifier");
            // What is only managed is nobody's dependency yet.
            boolean isWanted = dependency.getParentNode().getParentNode() == pom
                    && !"test".equals(text(dependency, "scope"));
            if (GROUP.equals(text(dependency, "groupId")) && isWanted && !classifier.contains("$")) {
                expect(Files.exists(jar(text(dependency, "artifactId"), classifier)), artifact + ".pom names "
                        + text(dependency, "artifactId") + ':' + classifier + ", which is not in the bundle");
            }
        }
    }

    private Path jar(String artifact, String classifier) {
        return staged.resolve(GROUP.replace('.', '/')).resolve(artifact).resolve(version)
                .resolve(artifact + '-' + version + (classifier.isEmpty() ? "" : '-' + classifier) + ".jar");
    }

    private void checkArtifacts(String artifact, Element pom) throws IOException {
        String packaging = text(pom, "packaging");
        if (packaging != null && packaging.equals("pom")) {
            return;
        }
        for (String classifier : List.of("", "sources", "javadoc")) {
            expect(Files.exists(jar(artifact, classifier)), artifact + " has no jar " + classifier);
        }
        Path sbom = jar(artifact, "cyclonedx").resolveSibling(artifact + '-' + version + "-cyclonedx.json");
        expect(Files.exists(sbom), artifact + " has no SBOM");
        if (Files.exists(sbom)) {
            checkVersions(artifact, Files.readString(sbom));
        }
    }

    /** Of each dependency there is one version, and of all of Netty, whichever way they come. */
    private void checkVersions(String artifact, String sbom) {
        Map<String, Set<String>> versions = new TreeMap<>();
        PURL.matcher(sbom).results().forEach(found -> {
            String what = found.group(1).equals("io.netty") && found.group(2).matches(NETTY_PROJECT) ? "Netty"
                    : found.group(1) + ':' + found.group(2);
            versions.computeIfAbsent(what, any -> new TreeSet<>()).add(found.group(3));
        });
        expect(!versions.isEmpty(), artifact + ": its SBOM names nothing");
        versions.forEach((what, its) -> expect(its.size() == 1, artifact + " has " + what + " in versions " + its));
    }

    /** The BOM has every artifact that a user can depend on, and nothing else. */
    private void checkBom() throws IOException {
        Element bom = poms.get(MODULE + "-bom");
        expect(bom != null, "there is no BOM");
        if (bom == null) {
            return;
        }
        Set<String> named = new TreeSet<>();
        for (Element dependency : all(bom, "dependency")) {
            String classifier = text(dependency, "classifier");
            named.add(text(dependency, "artifactId") + (classifier == null ? "" : ':' + classifier));
        }
        Set<String> there = new TreeSet<>();
        for (Path file : files(staged)) {
            String artifact = file.getParent().getParent().getFileName().toString();
            String rest = file.getFileName().toString().replace(artifact + '-' + version, "");
            if (rest.equals(".jar") || rest.matches("-linux-\\w+\\.jar")) {
                there.add(artifact + rest.replaceAll("^-", ":").replace(".jar", ""));
            }
        }
        expect(named.equals(there), "the BOM has " + named + ", the bundle " + there);
    }

    private void checkSums(Path file) throws Exception {
        byte[] bytes = Files.readAllBytes(staged.resolve(file));
        for (Map.Entry<String, String> each : Map.of("md5", "MD5", "sha1", "SHA-1").entrySet()) {
            Path sum = staged.resolve(file + "." + each.getKey());
            String expected = HexFormat.of().formatHex(MessageDigest.getInstance(each.getValue()).digest(bytes));
            expect(Files.exists(sum) && Files.readString(sum).strip().equals(expected), file + ": " + each.getValue());
        }
    }

    private void checkJar(Path file) throws IOException {
        String name = file.getFileName().toString();
        boolean isNative = name.matches(".*-linux-\\w+\\.jar");
        boolean isMain = name.matches(".*-" + Pattern.quote(version) + "\\.jar");
        try (JarFile jar = new JarFile(staged.resolve(file).toFile())) {
            if (!isNative && !isMain) {
                return;
            }
            for (String entry : List.of("META-INF/LICENSE", "META-INF/NOTICE")) {
                expect(jar.getEntry(entry) != null, name + " has no " + entry);
            }
            checkNothingOfOthers(name, jar);
            if (name.equals(MODULE + '-' + version + ".jar")) {
                for (String part : List.of("reachability-metadata.json", "native-image.properties")) {
                    String entry = "META-INF/native-image/" + GROUP + '/' + MODULE + '/' + part;
                    expect(jar.getEntry(entry) != null, name + " has no " + entry);
                }
            }
            Attributes manifest = jar.getManifest().getMainAttributes();
            ZipEntry descriptor = jar.getEntry("module-info.class");
            expect(descriptor != null || manifest.getValue("Automatic-Module-Name") != null, name + " names no module");
            expect(manifest.getValue("Bundle-SymbolicName") != null, name + " has no headers of OSGi");
            expect(version.replace("-SNAPSHOT", ".SNAPSHOT").equals(manifest.getValue("Bundle-Version")), name
                    + ": Bundle-Version is " + manifest.getValue("Bundle-Version"));
            if (isNative) {
                expect((GROUP + '.' + MODULE).equals(manifest.getValue("Fragment-Host")), name + " is no fragment");
                checkNative(name, jar);
            }
            if (descriptor != null) {
                checkExports(name, manifest.getValue("Export-Package"), jar.getInputStream(descriptor));
            }
        }
    }

    /** NOTICE says that the artifacts contain no code of others. */
    private void checkNothingOfOthers(String name, JarFile jar) {
        jar.stream().map(ZipEntry::getName).filter(entry -> entry.endsWith(".class") || entry.endsWith(".jar"))
                .filter(entry -> !entry.startsWith("io/rdmaraw/") && !entry.equals("module-info.class")
                        && !entry.matches("META-INF/rdmaraw/" + MODULE + "-[^/]*\\.jar"))
                .forEach(entry -> expect(false, name + " has " + entry + ", which NOTICE does not name"));
    }

    /** OSGi is told to let others see what JPMS lets them see. */
    private void checkExports(String name, String header, InputStream descriptor) throws IOException {
        Set<String> exported = ModuleDescriptor.read(descriptor).exports().stream()
                .map(ModuleDescriptor.Exports::source).collect(Collectors.toCollection(TreeSet::new));
        // Of each clause the package; what stands in quotes may have commas.
        Set<String> bundled = Arrays.stream(header.replaceAll("\"[^\"]*\"", "").split(","))
                .map(clause -> clause.split(";")[0]).collect(Collectors.toCollection(TreeSet::new));
        expect(exported.equals(bundled), name + " exports " + exported + " to modules, " + bundled + " to bundles");
    }

    private void checkNative(String name, JarFile jar) throws IOException {
        String classifier = name.replaceAll(".*-(linux-\\w+)\\.jar", "$1");
        List<ZipEntry> libraries = jar.stream().filter(entry -> entry.getName().endsWith(".so"))
                .map(ZipEntry.class::cast).toList();
        expect(libraries.size() == 1, name + " has " + libraries.size() + " libraries");
        for (ZipEntry library : libraries) {
            byte[] elf = jar.getInputStream(library).readAllBytes();
            int machine = elf[18] & 0xff | (elf[19] & 0xff) << 8;
            expect(ELF_MACHINES.get(classifier) == machine, name + ": its library is for ELF machine " + machine);
            Matcher symbol = Pattern.compile("GLIBC_(\\d+)\\.(\\d+)")
                    .matcher(new String(elf, StandardCharsets.ISO_8859_1));
            Version wanted = symbol.results().map(each -> new Version(Integer.parseInt(each.group(1)),
                    Integer.parseInt(each.group(2)))).max(Version::compareTo).orElseThrow();
            expect(wanted.compareTo(OLDEST_GLIBC) <= 0, name + " wants glibc " + wanted);
            System.out.println(name + " wants glibc " + wanted);
        }
    }

    private void compare(List<Path> files, Path another) throws IOException {
        List<Path> others = files(another);
        expect(files.equals(others), "the other build has other files");
        int same = 0;
        for (Path file : files) {
            boolean equal = Files.exists(another.resolve(file))
                    && Files.mismatch(staged.resolve(file), another.resolve(file)) < 0;
            expect(equal, file + " is not what the other build has made");
            same += equal ? 1 : 0;
        }
        System.out.println(same + " of " + files.size() + " files have the same bytes in a build in another folder");
    }

    private static boolean hasText(String value) {
        return value != null && !value.isBlank();
    }

    private static Element child(Element element, String name) {
        for (Node node = element.getFirstChild(); node != null; node = node.getNextSibling()) {
            if (node instanceof Element found && found.getTagName().equals(name)) {
                return found;
            }
        }
        return null;
    }

    private static String text(Element element, String... path) {
        Element at = element;
        for (String name : path) {
            at = at == null ? null : child(at, name);
        }
        return at == null ? null : at.getTextContent().strip();
    }

    private static List<Element> all(Element element, String name) {
        var found = element.getElementsByTagName(name);
        List<Element> elements = new ArrayList<>();
        for (int i = 0; i < found.getLength(); i++) {
            elements.add((Element) found.item(i));
        }
        return elements;
    }
}
