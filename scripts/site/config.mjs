// The site of scripts/site.sh: pages are the Markdown files of the repository, as they are.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { slug } from 'github-slugger'
import { defineConfig } from 'vitepress'
import { withMermaid } from 'vitepress-plugin-mermaid'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')

// The order of README.md's list.
const groups = {
  Use: ['docs/quickstart', 'docs/deploying', 'docs/containers', 'docs/cloud', 'docs/cards', 'docs/security',
    'docs/frameworks', 'docs/observability', 'docs/tools', 'examples/README'],
  Understand: ['docs/architecture', 'docs/receiving-and-sending', 'docs/addresses-and-rules', 'docs/waiting', 'docs/tcp', 'docs/tcp-settings',
    'docs/simulation', 'docs/memory-ordering', 'docs/hardware', 'docs/design-decisions', 'docs/glossary', 'docs/notebook'],
  Results: ['docs/report/conformance', 'docs/report/frameworks', 'docs/report/kernels', 'docs/report/containers',
    'docs/report/rfc9293', 'docs/report/packetdrill'],
  Change: ['CONTRIBUTING', 'CHANGELOG', 'docs/release', 'SECURITY'],
}

const listed = Object.values(groups).flat()
for (const folder of ['docs', 'docs/report']) {
  for (const file of readdirSync(join(root, folder)).filter(name => name.endsWith('.md'))) {
    const page = `${folder}/${file.slice(0, -3)}`
    if (!listed.includes(page)) {
      throw new Error(`${page} is in no group of scripts/site/config.mjs: the search alone would find it`)
    }
  }
}

const heading = page => readFileSync(join(root, `${page}.md`), 'utf8').match(/^# (.*)$/m)[1].replaceAll('`', '')

/** A link to a source, which is no page of the site, becomes text; README.md is the first page. */
function pagesAlone(md) {
  md.core.ruler.push('pages-alone', state => {
    for (const token of state.tokens.filter(each => each.type === 'inline')) {
      let isDropped = false
      token.children = token.children.filter(child => {
        if (child.type === 'link_open') {
          isDropped = !resolve(child, state.env.relativePath)
        }
        return !isDropped || child.type !== 'link_open' && child.type !== 'link_close'
      })
    }
  })
}

/** Says whether a link leads to a page, and what of it differs from that of the repository. */
function resolve(link, from) {
  const [, name, anchor] = link.attrGet('href').match(/^([^#]*)(#.*)?$/)
  if (name === '' || /^[a-z]+:/.test(name)) {
    return true
  }
  const path = normalize(join(dirname(from), decodeURIComponent(name)))
  if (path === 'README.md') {
    link.attrSet('href', `/index.md${anchor ?? ''}`)
    return true
  }
  if (existsSync(join(root, 'public', path))) {
    // A file that is no page of VitePress: its router must not look for one.
    link.attrSet('target', '_self')
    return true
  }
  return path.endsWith('.md') && existsSync(join(root, path))
}

export default withMermaid(defineConfig({
  title: 'netty-transport-rdma-raw',
  description: 'A Netty 4.2 transport on RDMA verbs raw-packet queue pairs',
  lang: 'en',
  cleanUrls: false,
  // Pictures stand beside the pages, as in the repository.
  vue: { template: { transformAssetUrls: false } },
  vite: { build: { chunkSizeWarningLimit: 4096 } },
  // The pages' own lines are higher than those that Mermaid has measured its boxes for.
  mermaid: { themeCSS: '.nodeLabel p { line-height: 1.5 !important; margin: 0 !important; }' },
  markdown: {
    anchor: { slugify: text => slug(text) },
    config: pagesAlone,
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: 'deep',
    nav: [
      { text: 'Javadoc', link: '/javadoc/index.html', target: '_self' },
      { text: 'Measurements', link: '/docs/report/report.html', target: '_self' },
    ],
    sidebar: Object.entries(groups).map(([text, pages]) => ({
      text,
      items: pages.map(page => ({ text: heading(page), link: `/${page}` })),
    })),
  },
}))
