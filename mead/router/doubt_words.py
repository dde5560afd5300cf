"""What sends a turn to the cloud: words of reasoning and invention, words of other languages.

Written as mead/router/words.py says.
"""

from typing import Final

from mead.router.words import entries, words

REASONING: Final = entries("""
    importance, importancia, defend, defends, ambiguity, ambiguous, agenda of, hidden, why, whys
    whyy, whyyy, wyh, whhy, how, how come, startup, slogan, slogans, tagline, tone of voice
    villanelle, ballad, ode, satire, monologue, dialogue, in the style of, as if, read between
    contradiction, contradictions, fallacy, assumption, assumptions, bias, wrong, mean, means
    cheapest, fastest, easiest, safest, greatest, smallest, largest, most efficient, combination
    combinations, list some, list a few, list three, list five, list ten, name some, name three
    find a way, verify that, check that, add a paragraph, add a section, add a chapter, subset
    subsets, reflect on, sense of, perspective, explain, explains, explained, explaining
    explanation, explanations, explanatory, reason, reasons, reasoning, rationale, compare
    compares, compared, comparing, comparison, comparisons, contrast, contrasting, versus, vs
    justify, justifies, justified, justifying, justification, design, designs, designing, redesign
    prove, proves, proving, proof, proofs, disprove, plan, plans, planning, debug, debugging
    troubleshoot, troubleshooting, tradeoff, tradeoffs, trade off, trade offs, decide, decides
    deciding, decision, decisions, choose, choosing, essay, essays, multi step, multistep
    step by step, steps, analyse, analysing, analyses, analyze, analyzes, analyzing, analysis
    evaluate, evaluates, evaluating, evaluation, assess, assessing, assessment, argue, arguing
    argument, arguments, counterargument, critique, criticize, criticise, debate, strategy
    strategies, strategic, architecture, architect, optimise, optimize, optimization, optimisation
    refactor, refactoring, implement, implementing, implementation, algorithm, algorithms, derive
    derivation, infer, inference, deduce, deduction, hypothesis, hypotheses, theorem, conjecture
    lemma, counterexample, solve, solves, solving, solution, solutions, calculate, compute
    equation, equations, integral, derivative, estimate, forecast, forecasting, predict, predicts
    prediction, predictions, recommend, recommends, recommendation, recommendations, suggest
    suggests, suggestion, suggestions, advise, advice, should, shouldn, ought, best, better, worse
    worst, worth, optimal, ideal, pros, cons, advantage, advantages, disadvantage, disadvantages
    benefits, drawbacks, implication, implications, consequence, consequences, cause, causes
    causing, because, impact, difference, differences, differ, brainstorm, brainstorming, idea
    ideas, imagine, invent, story, stories, poem, poems, poetry, haiku, sonnet, lyrics, limerick
    joke, jokes, creative, creatively, novel, fiction, compose, draft a, draft an, outline
    proposal, discuss, discussion, elaborate, interpret, interpretation, understand, understanding
    investigate, diagnose, diagnosis, improve, improvement, improvements, philosophy
    philosophical, ethical, ethics, moral, opinion, opinions, think, thoughts, consider, convince
    persuade, persuasive, motivation, conclude, conclusion, synthesize, synthesis, simulate
    simulation, logical, puzzle, puzzles, riddle, paradox, program, programming, function
    functions, script, code, coding, regex, sql, theory, theories, concept, concepts, meaning
    purpose, significance, themes, symbolism, plot, flaw, flaws, root cause, hypothetical
    scenario, scenarios, speech, article, blog post, strategize, weigh, convincing, work out
    figure out, sort out, think through, talk me through, walk me through, run through, what if
    what would, what could, what makes, what happens, what do you, what you think, make of
    how do i, how do you, how do we, how does, how did, how would, how could, how can, how to
    how should, how it works, how they, show me how, tell me how, tell me about, tell me a
    tell me more, tell me what you, which one, which is, which option, which of, is it true
    do you believe, help me, deep dive, in depth, make sense, review my, review the, review our
    review this, describe, show that, show why, when is it, how much money, say why, critically
    pick the, most promising, most likely

    porque, porques, por que, por q, pq, explica, explicar, explicas, explique, explico
    explicacao, explicacoes, explicando, explicado, compara, comparar, comparacao, comparacoes
    comparando, contrasta, contraste, justifica, justificar, justifique, justificacao
    justificativa, projeta, projete, projetar, desenha, desenhe, desenhar, concebe, conceber
    prova, provar, demonstra, demonstre, demonstrar, demonstracao, planeia, planeie, planear
    planeja, planeje, planejar, planeamento, planejamento, plano, planos, depura, depure, depurar
    debugar, decida, decidir, decisao, decisoes, escolhe, escolher, escolho, ensaio, redacao
    dissertacao, analisa, analise, analisar, analises, avalia, avalie, avaliar, avaliacao
    argumenta, argumente, argumentar, argumento, argumentos, critica, criticar, estrategia
    estrategias, arquitetura, arquitectura, otimiza, otimize, otimizar, optimizar, implementa
    implementar, algoritmo, algoritmos, deduz, deduzir, inferir, hipotese, hipoteses, teorema
    resolve, resolva, resolver, solucao, solucoes, calcula, calcule, calcular, estima, estimar
    prever, previsao, recomenda, recomende, recomendar, recomendacao, sugere, sugira, sugerir
    sugestao, sugestoes, aconselha, aconselhar, conselho, conselhos, devo, deveria, deverias
    devemos, devia, melhor, melhores, pior, piores, vale a pena, vantagem, vantagens, desvantagem
    desvantagens, beneficios, pros e contras, consequencia, consequencias, implicacoes, causa
    causas, impacto, diferenca, diferencas, ideia, ideias, imagina, imaginar, inventa, inventar
    historia, conto, poema, poemas, poesia, piada, criativo, criativa, discute, discuta, discutir
    elabora, elaborar, interpreta, interpretar, entender, compreender, investiga, investigar
    diagnostica, diagnosticar, melhora, melhore, melhorar, melhoria, melhorias, filosofia, etica
    opiniao, achas, acha que, pensas, convence, convencer, persuadir, conclusao, raciocina
    raciocinar, raciocinio, logica, funcao, codigo, significado, teoria, conceito, como funciona
    como funcionam, como posso, como fazer, como faco, como e que, como se, como devo, e se
    o que acontece, o que aconteceria, o que achas, o que acha, passo a passo, ajuda me, ajude me
    me ajude, me ajuda, fala me, fale me, fala sobre, fale sobre, conta me, conte me, descreve
    descreva, qual o sentido, compare

    explicame, expliqueme, explicamelo, explicalo, explicanos, explicacion, explicaciones
    comparacion, comparativa, comparalos, comparalas, justificacion, justificalo, disena, disenar
    disene, diseno, demuestra, demostrar, demuestre, demostracion, prueba que, planifica
    planificar, planifique, planes de, planes para, planea, planear, decidir, decision, elegir
    elijo, ensayo, analiza, analizar, analice, analisis, analizalo, evalua, evaluar, evalue
    evaluacion, optimiza, hipotesis, resuelve, resolver, resuelva, solucion, soluciones, predice
    predecir, pronostica, pronosticar, recomienda, recomiende, recomendacion, sugiere, sugerencia
    sugerencias, propone, proponer, propuesta, aconseja, consejo, consejos, debo, deberia
    deberiamos, mejor, mejores, peor, peores, vale la pena, ventaja, ventajas, desventaja
    desventajas, consecuencia, consecuencias, diferencia, diferencias, imagina, cuento, chiste
    creativo, creativa, mejora, mejoras, mejorar, opinas, piensas, crees que, razona, razonar
    razonamiento, conclusion, funcion, concepto, como puedo, como hacer, como hago, que pasaria
    que pasa si, paso a paso, ayudame, hablame, cuentame, describe, describa, xq, xque
""")

ORDERS: Final = words("""
    explain compare contrast justify design redesign prove disprove plan debug troubleshoot decide
    choose analyse analyze evaluate assess argue critique criticize criticise debate optimise
    optimize refactor implement derive infer deduce solve calculate compute estimate forecast
    predict recommend suggest advise brainstorm imagine invent compose discuss elaborate interpret
    investigate diagnose improve consider convince persuade synthesize simulate describe weigh

    explica explicar explique compara comparar justifica justificar justifique projeta projete
    desenha desenhe prova demonstra demonstre planeia planeie planeja planeje depura depure decida
    escolhe escolher analisa analise analisar avalia avalie avaliar argumenta argumente otimiza
    otimize resolve resolva calcula calcule estima recomenda recomende sugere sugira discute
    discuta elabora interpreta investiga diagnostica melhora melhore imagina inventa descreve
    descreva

    explicame expliqueme explicamelo explicalo explicanos justificalo disena disene demuestra
    demuestre planifica planifique analiza analizar analice analizalo evalua evaluar evalue
    optimiza resuelve resuelva predice recomienda recomiende sugiere propone aconseja mejora
    razona describe
""")
"""The words of REASONING that order it; one behind given text is a doubt."""

OTHER_REQUESTS: Final = words("""
    tell answer talk draw teach sing reflect generate rank rate guess name give help build develop
    comment respond reply continue complete expand extend identify determine act pretend roleplay
    try look keep ask guide apply study learn suppose given assume explore speak examine cite link
    fix work go

    responda responde fala fale gera gere continua continue completa complete ajuda ajude
    desenvolve desenvolva identifica identifique ensina ensine supondo dado tenta tente pensa
    pense

    dime habla genera genere ayuda desarrolla ensena supon intenta piensa
""")
"""Words that ask for something else where a clause begins and no routine phrase does."""

NEUTRAL: Final = entries("""
    how many, how much, zip code, post code, postal code, area code, country code, error code
    qr code, codigo postal, codigo de erro, codigo de error, best regards, last steps
    story points, mobile plan, causa de vez, prova de vida
""")
"""Phrases that hold a word of REASONING and mean none."""

FOREIGN: Final = words("""
    cette ces dans avec pourquoi quel quelle quels quelles vous nous suis traduis traduisez ouvre
    ouvrez fichiers fichier dossier bonjour donnez leur texte veuillez corrigez extrais ist und
    nicht bitte warum welche welcher welches eine einen einem einer diese dieser dieses diesem
    diesen dateien datei ordner wie auf zur zum ich wir ihr kannst zeige ubersetze nella nello
    della dello degli delle gli perche cosa questo questa questi queste quali sono traduci
    buongiorno apri cartella een niet waarom voor naar deze wat welke bestand bestanden vertaal
    maak zoek och inte alla filer mappen hur vad jag ikke hvad hvorfor amb dels fitxer fitxers
    obre aquest aquesta els tradueix corregeix fisierul fisierele pentru acest aceasta jest
    dlaczego plik pliki prosze nedir neden lutfen dosya yang mengapa dengan untuk berkas
""")
"""Words of other languages that are none in the three: one is enough."""

FOREIGN_HINTS: Final = words("""
    les des du une est au aux et pas mon ce je il mit fur von van die den der das het dan att ett
    vis din cum ile ini che cet visa nel
""")
"""Words of other languages that also happen in the three, in names above all: it takes two."""

LOOKALIKES: Final = words("""
    analista analyst analysts aprova aprovar articles assets batter benefit bitter bonnet bought
    butter canalizar cansa canto cargue casa casas case cases casing cauda causal cento chink
    ciento cinto clans clause claws comigo coming commute compadre compete composer compost compra
    comprando comprar compre compres computer conceder concejo concelho concert concerto concerts
    conejo contos contou contract contracting contrata cooing coping coral corse corto costo
    critic criticas critico cuanto cuenco deal debut decada decade decades decode decoding deprive
    desate descida deuce disputa dispute drive eleger elegia emma encolher essa essas estender
    esticar estirar evacuar evacuate evacuation extender faction fiddle flags flaps flats flows
    forth fought friction funciona funcione grove groves horse idas ideals ides inferior inner
    inserir integrals integrar intent interprete interpreter invest joker jokers jones junction
    largue laws leaning letter llano major menor menores middle moaning monto mora moram morar
    morse mortal movel mural muzzle navel north nove novela onto optical oral pano pans parado
    parador parados parque parques particle penas pensao persas piano picada pisada plains plana
    plane planet planeta plank planks plant planta plantar plantear planting plants platea plato
    plazo pleno poeta poetas poets ponto poof precisao prefer privar proa probe probes probing
    profeta promete prone propane prosa prose provei puncao puzzled reacao reactor redactor
    reducao reduce reduction reduzir relacao resign resigning revisao roof roofs season seasoning
    seasons seduce seduction setima sole soles stems stimulate stimulation stony stops store
    stores stork storm stormy temes teria thank thick thin thing tonto torque torques trove value
    vantage vedacao ventana verses versos weighs weight wolves wore worthy
""")
"""Words of their own that are one slip away from a word of REASONING."""
